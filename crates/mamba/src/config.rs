//! What a Mamba model is made of: its sizes, read from `config.json` in Hugging Face's or the original dialect.
//! Must not know where weights come from or how they are run.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// The state-space part of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arch {
    /// Selective scan with a decay per channel and state (arXiv:2312.00752).
    Mamba1 {
        /// Rank of the time-step projection.
        dt_rank: usize,
    },
    /// State-space duality with one decay per head (arXiv:2405.21060).
    Mamba2 {
        /// Number of heads; `heads * head_dim` is the inner width.
        heads: usize,
        /// Channels of a head.
        head_dim: usize,
        /// Groups of heads that share B and C, and groups of the gated norm.
        groups: usize,
        /// Least and greatest time step after softplus.
        dt_limit: [f32; 2],
    },
}

/// Sizes and switches of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Which state-space layer.
    pub arch: Arch,
    /// Rows of the embedding.
    pub vocab: usize,
    /// Width of the residual stream.
    pub d_model: usize,
    /// Number of layers.
    pub layers: usize,
    /// Inner width (channels of the scan).
    pub d_inner: usize,
    /// States per channel.
    pub d_state: usize,
    /// Taps of the causal convolution.
    pub d_conv: usize,
    /// Epsilon of every RMS norm.
    pub eps: f32,
    /// Whether the head shares the embedding's weights.
    pub tied: bool,
    /// Whether the two outer projections have biases.
    pub proj_bias: bool,
    /// Whether the convolution has a bias.
    pub conv_bias: bool,
    /// Tokens that end a text.
    pub eos: Vec<u32>,
}

/// Names that [`Config::preset`] knows: the published sizes.
pub const PRESETS: [&str; 10] = [
    "mamba-130m",
    "mamba-370m",
    "mamba-790m",
    "mamba-1.4b",
    "mamba-2.8b",
    "mamba2-130m",
    "mamba2-370m",
    "mamba2-780m",
    "mamba2-1.3b",
    "mamba2-2.7b",
];

impl Config {
    /// A published size by name, e.g. `mamba-370m`, from the checkpoints' own `config.json`.
    pub fn preset(name: &str) -> Result<Self> {
        let short = name.strip_prefix("state-spaces/").unwrap_or(name);
        let short = short.strip_suffix("-hf").unwrap_or(short);
        let (family, size) = short.split_once('-').unwrap_or((short, ""));
        let dims = match (family, size) {
            ("mamba" | "mamba2", "130m") => Some((768, 24)),
            ("mamba" | "mamba2", "370m") => Some((1024, 48)),
            ("mamba", "790m") | ("mamba2", "780m") => Some((1536, 48)),
            ("mamba", "1.4b") | ("mamba2", "1.3b") => Some((2048, 48)),
            ("mamba", "2.8b") | ("mamba2", "2.7b") => Some((2560, 64)),
            _ => None,
        };
        let Some((d_model, layers)) = dims else {
            return Err(Error::Input(format!("no preset `{name}`; there are {}", PRESETS.join(", "))));
        };
        let d_inner = 2 * d_model;
        let (arch, vocab, d_state) = if family == "mamba" {
            (Arch::Mamba1 { dt_rank: d_model / 16 }, 50280, 16)
        } else {
            let arch = Arch::Mamba2 { heads: d_inner / 64, head_dim: 64, groups: 1, dt_limit: [0.0, f32::INFINITY] };
            (arch, 50288, 128)
        };
        Ok(Self {
            arch,
            vocab,
            d_model,
            layers,
            d_inner,
            d_state,
            d_conv: 4,
            eps: 1e-5,
            tied: true,
            proj_bias: false,
            conv_bias: true,
            eos: vec![0],
        })
    }

    /// Reads `config.json`.
    pub fn from_file(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        let value: Value = serde_json::from_str(&quote_nonfinite(&text)).map_err(|e| Error::json(path, &e))?;
        Self::from_json(&value, &path.display().to_string())
    }

    /// Reads the object of a `config.json`; `place` names it in errors.
    pub fn from_json(value: &Value, place: &str) -> Result<Self> {
        let Some(object) = value.as_object() else {
            return Err(Error::Config { path: place.into(), field: "(root)", reason: "must be a JSON object".into() });
        };
        let fields = Fields { object, place };
        let config = match object.get("model_type").and_then(Value::as_str) {
            Some("mamba") => hugging_face(&fields, false)?,
            Some("mamba2") => hugging_face(&fields, true)?,
            None | Some("") if object.contains_key("d_model") => original(&fields)?,
            Some(other) => return Err(Error::UnknownArchitecture { path: place.into(), found: other.into() }),
            None => {
                return Err(Error::UnknownArchitecture { path: place.into(), found: "(no `model_type`)".into() });
            }
        };
        config.check(place)?;
        Ok(config)
    }

    /// The object of a Hugging Face `config.json` for this model.
    pub fn to_json(&self) -> Value {
        let mut out = json!({
            "vocab_size": self.vocab,
            "hidden_size": self.d_model,
            "num_hidden_layers": self.layers,
            "state_size": self.d_state,
            "conv_kernel": self.d_conv,
            "expand": self.d_inner / self.d_model,
            "intermediate_size": self.d_inner,
            // The shortest decimal that reads back as the same f32, so that the file says 1e-05 and not its expansion.
            "layer_norm_epsilon": self.eps.to_string().parse::<f64>().unwrap_or(f64::from(self.eps)),
            "tie_word_embeddings": self.tied,
            "use_bias": self.proj_bias,
            "use_conv_bias": self.conv_bias,
            "hidden_act": "silu",
            "residual_in_fp32": true,
            "torch_dtype": "float32",
            "bos_token_id": 0,
            "pad_token_id": 0,
            "eos_token_id": self.eos.first().copied().unwrap_or(0),
        });
        match self.arch {
            Arch::Mamba1 { dt_rank } => {
                out["model_type"] = json!("mamba");
                out["architectures"] = json!(["MambaForCausalLM"]);
                out["time_step_rank"] = json!(dt_rank);
            }
            Arch::Mamba2 { heads, head_dim, groups, dt_limit } => {
                out["model_type"] = json!("mamba2");
                out["architectures"] = json!(["Mamba2ForCausalLM"]);
                out["num_heads"] = json!(heads);
                out["head_dim"] = json!(head_dim);
                out["n_groups"] = json!(groups);
                out["chunk_size"] = json!(256);
                // JSON has no infinity: an open limit is left to the reader's default.
                if dt_limit[1].is_finite() {
                    out["time_step_limit"] = json!(dt_limit);
                }
            }
        }
        out
    }

    /// The same model with another number of layers.
    #[must_use]
    pub fn with_layers(mut self, layers: usize) -> Self {
        self.layers = layers;
        self
    }

    /// Channels that pass the causal convolution.
    pub fn conv_channels(&self) -> usize {
        match self.arch {
            Arch::Mamba1 { .. } => self.d_inner,
            Arch::Mamba2 { groups, .. } => self.d_inner + 2 * groups * self.d_state,
        }
    }

    /// Parameters of the model, the head not counted twice where it is tied.
    pub fn parameters(&self) -> u64 {
        self.matmul_parameters()
            + self.other_parameters()
            + if self.tied { 0 } else { (self.vocab * self.d_model) as u64 }
    }

    /// Parameters that one generated token reads from memory: all but the rows of an untied embedding.
    pub fn parameters_per_decode(&self) -> u64 {
        self.matmul_parameters() + self.other_parameters()
    }

    /// Floating-point operations of the projections for one prompt token (2 per weight), the head not counted: a prompt
    /// needs it for its last token alone.
    pub fn gemm_flops_per_token(&self) -> u64 {
        2 * (self.matmul_parameters() - (self.vocab * self.d_model) as u64)
    }

    /// Weights of the projections of all layers and of the head.
    fn matmul_parameters(&self) -> u64 {
        let (d, di, n) = (self.d_model, self.d_inner, self.d_state);
        let layer = match self.arch {
            Arch::Mamba1 { dt_rank } => d * 2 * di + di * (dt_rank + 2 * n) + dt_rank * di + di * d,
            Arch::Mamba2 { heads, groups, .. } => d * (2 * di + 2 * groups * n + heads) + di * d,
        };
        (layer * self.layers + self.vocab * d) as u64
    }

    /// Norms, convolutions, biases, decays and skips.
    fn other_parameters(&self) -> u64 {
        let conv = self.conv_channels() * (self.d_conv + usize::from(self.conv_bias));
        let ssm = match self.arch {
            Arch::Mamba1 { .. } => self.d_inner * (self.d_state + 2),
            Arch::Mamba2 { heads, .. } => 3 * heads + self.d_inner,
        };
        ((conv + ssm + self.d_model) * self.layers + self.d_model) as u64
    }

    fn check(&self, place: &str) -> Result<()> {
        let bad = |field, reason: String| Err(Error::Config { path: place.into(), field, reason });
        // Bounds keep every later size computation far from overflow; the largest published model is well inside.
        for (field, value, most) in [
            ("vocab_size", self.vocab, 1 << 24),
            ("hidden_size", self.d_model, 1 << 17),
            ("num_hidden_layers", self.layers, 1 << 12),
            ("intermediate_size", self.d_inner, 1 << 19),
            ("state_size", self.d_state, 1 << 12),
            ("conv_kernel", self.d_conv, 64),
        ] {
            if value == 0 || value > most {
                return bad(field, format!("is {value}, must be between 1 and {most}"));
            }
        }
        if !(self.eps > 0.0 && self.eps < 1.0) {
            return bad("layer_norm_epsilon", format!("is {}, must be between 0 and 1", self.eps));
        }
        match self.arch {
            Arch::Mamba1 { dt_rank } => {
                if dt_rank == 0 || dt_rank > 1 << 16 {
                    return bad("time_step_rank", format!("is {dt_rank}, must be between 1 and {}", 1 << 16));
                }
            }
            Arch::Mamba2 { heads, head_dim, groups, dt_limit } => {
                if heads == 0 || head_dim == 0 || heads.checked_mul(head_dim) != Some(self.d_inner) {
                    return bad(
                        "num_heads",
                        format!("{heads} heads of {head_dim} do not make the inner width {}", self.d_inner),
                    );
                }
                if groups == 0 || !heads.is_multiple_of(groups) {
                    return bad("n_groups", format!("{groups} groups do not divide {heads} heads"));
                }
                if !(dt_limit[0] >= 0.0 && dt_limit[0] <= dt_limit[1]) {
                    return bad("time_step_limit", format!("{dt_limit:?} is not an interval of positive numbers"));
                }
            }
        }
        Ok(())
    }
}

/// Python writes open limits as bare `Infinity` (and could write `NaN`), which JSON has not: puts quotes around them
/// wherever they stand outside a string. Column numbers on such a line shift by two; lines stay.
fn quote_nonfinite(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("Infinity") && !text.contains("NaN") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    let (mut rest, mut in_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|w| !in_string && rest.starts_with(w));
        if let Some(word) = word {
            out.extend(["\"", word, "\""]);
            rest = rest.get(word.len()..).unwrap_or("");
            continue;
        }
        let mut taken = c.len_utf8();
        if c == '"' {
            in_string = !in_string;
        } else if in_string && c == '\\' {
            taken += rest.chars().nth(1).map_or(0, char::len_utf8);
        }
        out.push_str(rest.get(..taken).unwrap_or(rest));
        rest = rest.get(taken..).unwrap_or("");
    }
    out.into()
}

/// Field access with errors that name the field.
struct Fields<'a> {
    object: &'a Map<String, Value>,
    place: &'a str,
}

impl Fields<'_> {
    fn bad<T>(&self, field: &'static str, reason: String) -> Result<T> {
        Err(Error::Config { path: self.place.into(), field, reason })
    }

    fn get(&self, field: &str) -> Option<&Value> {
        self.object.get(field).filter(|v| !v.is_null())
    }

    fn size(&self, field: &'static str) -> Result<usize> {
        match self.get(field) {
            Some(v) => self.as_size(field, v),
            None => self.bad(field, "is missing".into()),
        }
    }

    fn size_or(&self, field: &'static str, default: usize) -> Result<usize> {
        self.get(field).map_or(Ok(default), |v| self.as_size(field, v))
    }

    fn as_size(&self, field: &'static str, v: &Value) -> Result<usize> {
        let n = v.as_u64().or_else(|| v.as_f64().filter(|f| f.fract() == 0.0 && *f >= 0.0).map(|f| f as u64));
        match n.and_then(|n| usize::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => self.bad(field, format!("is {v}, must be a whole number")),
        }
    }

    fn flag_or(&self, field: &'static str, default: bool) -> Result<bool> {
        match self.get(field) {
            None => Ok(default),
            Some(Value::Bool(b)) => Ok(*b),
            Some(v) => self.bad(field, format!("is {v}, must be true or false")),
        }
    }

    fn number_or(&self, field: &'static str, default: f64) -> Result<f64> {
        match self.get(field) {
            None => Ok(default),
            Some(v) => match v.as_f64() {
                Some(n) => Ok(n),
                None => self.bad(field, format!("is {v}, must be a number")),
            },
        }
    }

    fn eos(&self) -> Result<Vec<u32>> {
        let one = |v: &Value| v.as_u64().and_then(|n| u32::try_from(n).ok());
        let ids = match self.get("eos_token_id") {
            None => Some(vec![0]),
            Some(Value::Array(list)) => list.iter().map(one).collect(),
            Some(v) => one(v).map(|id| vec![id]),
        };
        match ids {
            Some(ids) => Ok(ids),
            None => self.bad("eos_token_id", "must be a token id or a list of them".into()),
        }
    }

    /// `[least, greatest]`. An end that is no number (`"Infinity"`, or transformers' `{"__float__": "Infinity"}`) is open.
    fn limit(&self) -> Result<[f32; 2]> {
        let Some(value) = self.get("time_step_limit") else { return Ok([0.0, f32::INFINITY]) };
        match value.as_array().map(Vec::as_slice) {
            Some([low, high]) => {
                Ok([low.as_f64().unwrap_or(0.0) as f32, high.as_f64().map_or(f32::INFINITY, |h| h as f32)])
            }
            _ => self.bad("time_step_limit", format!("is {value}, must be two numbers")),
        }
    }
}

/// Hugging Face's dialect; defaults as in `transformers` (`MambaConfig`, `Mamba2Config`).
fn hugging_face(f: &Fields<'_>, second: bool) -> Result<Config> {
    let d_model = f.size("hidden_size")?;
    let expand = f.number_or("expand", 2.0)?;
    let d_inner = (expand * d_model as f64) as usize;
    if let Some(explicit) = f.get("intermediate_size") {
        let explicit = f.as_size("intermediate_size", explicit)?;
        if explicit != d_inner {
            return f.bad("intermediate_size", format!("is {explicit}, but expand x hidden_size is {d_inner}"));
        }
    }
    match f.get("hidden_act").and_then(Value::as_str) {
        None | Some("silu" | "swish") => {}
        Some(other) => return f.bad("hidden_act", format!("is `{other}`; only `silu` is known")),
    }
    let arch = if second {
        Arch::Mamba2 {
            heads: f.size_or("num_heads", 128)?,
            head_dim: f.size_or("head_dim", 64)?,
            groups: f.size_or("n_groups", 8)?,
            dt_limit: f.limit()?,
        }
    } else {
        let dt_rank = match f.get("time_step_rank") {
            None => d_model.div_ceil(16),
            Some(Value::String(s)) if s == "auto" => d_model.div_ceil(16),
            Some(v) => f.as_size("time_step_rank", v)?,
        };
        Arch::Mamba1 { dt_rank }
    };
    Ok(Config {
        arch,
        vocab: f.size("vocab_size")?,
        d_model,
        layers: f.size("num_hidden_layers")?,
        d_inner,
        d_state: f.size_or("state_size", if second { 128 } else { 16 })?,
        d_conv: f.size_or("conv_kernel", 4)?,
        eps: f.number_or("layer_norm_epsilon", 1e-5)? as f32,
        tied: f.flag_or("tie_word_embeddings", !second)?,
        proj_bias: f.flag_or("use_bias", false)?,
        conv_bias: f.flag_or("use_conv_bias", true)?,
        eos: f.eos()?,
    })
}

/// The original dialect of the state-spaces checkpoints (`d_model`, `n_layer`, `ssm_cfg`), defaults as in `mamba_ssm`.
fn original(f: &Fields<'_>) -> Result<Config> {
    let empty = Map::new();
    let ssm = f.get("ssm_cfg").and_then(Value::as_object).unwrap_or(&empty);
    let s = Fields { object: ssm, place: f.place };
    let second = match s.get("layer").and_then(Value::as_str) {
        None | Some("Mamba1") => false,
        Some("Mamba2") => true,
        Some(other) => return Err(Error::UnknownArchitecture { path: f.place.into(), found: other.into() }),
    };
    if f.get("attn_layer_idx").and_then(Value::as_array).is_some_and(|a| !a.is_empty()) {
        return Err(Error::UnknownArchitecture { path: f.place.into(), found: "hybrid with attention layers".into() });
    }
    let d_model = f.size("d_model")?;
    let d_inner = s.size_or("expand", 2)?.saturating_mul(d_model);
    let multiple = f.size_or("pad_vocab_size_multiple", 8)?.max(1);
    let arch = if second {
        let head_dim = s.size_or("headdim", 64)?.max(1);
        Arch::Mamba2 {
            heads: d_inner / head_dim,
            head_dim,
            groups: s.size_or("ngroups", 1)?,
            dt_limit: [0.0, f32::INFINITY],
        }
    } else {
        Arch::Mamba1 { dt_rank: d_model.div_ceil(16) }
    };
    Ok(Config {
        arch,
        vocab: f.size("vocab_size")?.div_ceil(multiple).saturating_mul(multiple),
        d_model,
        layers: f.size("n_layer")?,
        d_inner,
        d_state: s.size_or("d_state", if second { 128 } else { 16 })?,
        d_conv: s.size_or("d_conv", 4)?,
        eps: f.number_or("norm_epsilon", 1e-5)? as f32,
        tied: f.flag_or("tie_embeddings", true)?,
        proj_bias: false,
        conv_bias: true,
        eos: vec![0],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_published_parameter_counts() {
        // Counts of the published checkpoints (sum of tensor sizes, tied head counted once).
        for (name, count) in [("mamba-130m", 129_135_360), ("mamba-370m", 371_516_416), ("mamba2-130m", 128_989_632)] {
            assert_eq!(Config::preset(name).unwrap().parameters(), count, "{name}");
        }
        assert!(Config::preset("mamba-7b").unwrap_err().to_string().contains("mamba-370m"));
    }

    #[test]
    fn json_round_trip_keeps_every_field() {
        for name in PRESETS {
            let config = Config::preset(name).unwrap();
            assert_eq!(Config::from_json(&config.to_json(), name).unwrap(), config);
        }
    }

    #[test]
    fn pythons_infinity_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        let mut text = Config::preset("mamba2-130m").unwrap().to_json().to_string();
        text.insert_str(1, r#""note": "NaN \"Infinity", "time_step_limit": [0.001, Infinity], "#);
        std::fs::write(&path, text).unwrap();
        let Arch::Mamba2 { dt_limit, .. } = Config::from_file(&path).unwrap().arch else { panic!("not Mamba-2") };
        assert_eq!(dt_limit, [0.001, f32::INFINITY]);
    }

    #[test]
    fn original_dialect() {
        let v = json!({"d_model": 768, "n_layer": 24, "vocab_size": 50277, "ssm_cfg": {"layer": "Mamba2"},
            "attn_layer_idx": [], "rms_norm": true, "pad_vocab_size_multiple": 16, "tie_embeddings": true});
        assert_eq!(Config::from_json(&v, "c").unwrap(), Config::preset("mamba2-130m").unwrap());
        let v = json!({"d_model": 768, "n_layer": 24, "vocab_size": 50277, "ssm_cfg": {}});
        assert_eq!(Config::from_json(&v, "c").unwrap(), Config::preset("mamba-130m").unwrap());
    }

    #[test]
    fn wrong_configs_name_the_field() {
        let good = Config::preset("mamba2-130m").unwrap().to_json();
        for (field, value, expect) in [
            ("hidden_size", json!(0), "expand x hidden_size is 0"),
            ("num_heads", json!(7), "7 heads of 64"),
            ("n_groups", json!(5), "5 groups"),
            ("vocab_size", json!("many"), "whole number"),
            ("hidden_act", json!("gelu"), "only `silu`"),
            ("conv_kernel", json!(-1), "whole number"),
            ("use_bias", json!(3), "true or false"),
            ("model_type", json!("llama"), "unknown architecture `llama`"),
            ("num_hidden_layers", json!(1u64 << 60), "between 1 and"),
            ("layer_norm_epsilon", json!(0), "between 0 and 1"),
        ] {
            let mut v = good.clone();
            v[field] = value;
            let message = Config::from_json(&v, "config.json").unwrap_err().to_string();
            assert!(message.contains(expect), "{field}: {message}");
        }
        assert!(Config::from_json(&json!([]), "c").is_err());
        assert!(Config::from_json(&json!({}), "c").unwrap_err().to_string().contains("no `model_type`"));
    }
}
