//! `ksearch mamba generate`: a text goes on, as it comes.

use std::io::Write;
use std::time::Instant;

use anyhow::{Result, bail};
use ksearch_mamba::Engine;
use ksearch_mamba::generate::{Sampling, Stop, generate};
use ksearch_mamba::metal::{Gpu, Simulator};
use ksearch_mamba::tokenizer::{Stream, Tokenizer};
use serde_json::json;

use super::args::{Backend, GenerateArgs};
use super::model::Model;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Generates from a text or from token ids.
pub fn run(args: &GenerateArgs, printer: Printer) -> Result<Outcome> {
    let model = Model::open(&args.model)?;
    let (prompt, tokenizer) = match (&args.ids, &args.prompt) {
        (Some(ids), _) => (ids.clone(), None),
        (None, Some(text)) => {
            let Some(dir) = model.dir() else {
                bail!("`{}` is a made-up model without a tokenizer: give token ids with --ids", args.model.model);
            };
            let tokenizer = Tokenizer::open(dir)?;
            (tokenizer.encode(text)?, Some(tokenizer))
        }
        (None, None) => bail!("give a text to continue, or token ids with --ids"),
    };
    if prompt.is_empty() {
        bail!("the prompt has no tokens");
    }
    if tokenizer.is_none() && !args.stop.is_empty() {
        bail!("--stop needs text, and with --ids there is none");
    }
    let call = Call { args, model: &model, prompt: &prompt, tokenizer: tokenizer.as_ref(), printer };
    match args.model.backend {
        Backend::Cpu => call.with(model.on_cpu(&args.model, args.weights)?),
        Backend::Cuda => call.with(model.on_cuda(args.weights)?),
        Backend::Metal => call.with(model.on_metal::<Gpu>(args.weights)?),
        Backend::Sim => call.with(model.on_metal::<Simulator>(args.weights)?),
    }
}

struct Call<'a> {
    args: &'a GenerateArgs,
    model: &'a Model,
    prompt: &'a [u32],
    tokenizer: Option<&'a Tokenizer>,
    printer: Printer,
}

impl Call<'_> {
    fn with<E: Engine>(&self, mut engine: E) -> Result<Outcome> {
        let args = self.args;
        let sampling = Sampling {
            temperature: args.temperature,
            top_k: args.top_k,
            top_p: args.top_p,
            repetition_penalty: args.repetition_penalty,
            seed: args.seed,
        };
        let ends: &[u32] = if args.ignore_end { &[] } else { &self.model.config.eos };
        let mut text = Text::new(&args.stop);
        let mut stream = Stream::default();
        let start = Instant::now();
        let mut first = None;
        let mut failed = None;
        let (ids, stop) = generate(&mut engine, self.prompt, sampling, args.tokens, ends, |id| {
            first.get_or_insert_with(|| start.elapsed());
            let piece = match self.tokenizer {
                Some(tokenizer) => stream.push(tokenizer, id)?,
                None => format!("{}{id}", if text.is_empty() { "" } else { "," }),
            };
            let (certain, go_on) = text.push(&piece);
            failed = self.show(&certain).err();
            Ok(go_on && failed.is_none())
        })?;
        match failed {
            Some(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return Ok(Outcome::Success),
            Some(e) => return Err(e.into()),
            None => (),
        }
        if stop != Stop::Caller {
            let rest = match self.tokenizer {
                Some(tokenizer) => stream.finish(tokenizer)?,
                None => String::new(),
            };
            self.show(&text.finish(&rest))?;
        }
        self.printer.line("")?;
        let prefill = first.unwrap_or_default().as_secs_f64();
        let decode = start.elapsed().as_secs_f64() - prefill;
        let rate = ids.len().saturating_sub(1) as f64 / decode.max(1e-9);
        self.printer.note(format!(
            "{}: prompt of {} tokens in {prefill:.3} s, {} tokens at {rate:.1} tokens/s measured",
            engine.name(),
            self.prompt.len(),
            ids.len(),
        ));
        self.printer.object(&json!({
            "text": self.tokenizer.is_some().then_some(&text.shown),
            "ids": ids,
            "prompt_tokens": self.prompt.len(),
            "stop": match stop { Stop::EndOfText => "end-of-text", Stop::Length => "length", Stop::Caller => "stop-text" },
            "prefill_seconds": prefill,
            "decode_tokens_per_second": (ids.len() > 1).then_some(rate),
            "engine": engine.name(),
            "evidence": "measured",
        }))?;
        Ok(Outcome::Success)
    }

    fn show(&self, text: &str) -> std::io::Result<()> {
        if self.printer.json() || text.is_empty() {
            return Ok(());
        }
        let mut out = std::io::stdout();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// Text on its way out: what could be the beginning of a stop text is held back.
struct Text<'a> {
    stops: &'a [String],
    held: String,
    shown: String,
}

impl<'a> Text<'a> {
    const fn new(stops: &'a [String]) -> Self {
        Self { stops, held: String::new(), shown: String::new() }
    }

    const fn is_empty(&self) -> bool {
        self.shown.is_empty() && self.held.is_empty()
    }

    /// Adds a piece: what may be shown now, and whether to go on.
    fn push(&mut self, piece: &str) -> (String, bool) {
        self.held.push_str(piece);
        if let Some(at) = self.stops.iter().filter(|s| !s.is_empty()).filter_map(|s| self.held.find(s.as_str())).min() {
            self.held.truncate(at);
            return (self.finish(""), false);
        }
        let open = |at: usize| self.held.get(at..).is_some_and(|t| self.stops.iter().any(|s| s.starts_with(t)));
        let keep = (0..self.held.len()).find(|&at| open(at)).unwrap_or(self.held.len());
        let rest = self.held.split_off(keep);
        let certain = std::mem::replace(&mut self.held, rest);
        self.shown.push_str(&certain);
        (certain, true)
    }

    /// Everything that is left.
    fn finish(&mut self, rest: &str) -> String {
        self.held.push_str(rest);
        let all = std::mem::take(&mut self.held);
        self.shown.push_str(&all);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_text_is_never_shown_even_in_pieces() {
        let stops = ["\n\nQ:".to_owned(), "END".to_owned()];
        let mut text = Text::new(&stops);
        assert_eq!(text.push("one\n"), ("one".into(), true));
        assert_eq!(text.push("\ntwo E"), ("\n\ntwo ".into(), true));
        assert_eq!(text.push("N"), (String::new(), true));
        assert_eq!(text.push("é"), ("ENé".into(), true));
        assert_eq!(text.push("xEND of"), ("x".into(), false));
        assert_eq!(text.shown, "one\n\ntwo ENéx");
    }
}
