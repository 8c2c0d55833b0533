//! Knowledge files: TOML read and checked, every complaint with file, line and column. The `Raw…` types are the format;
//! `knowledge/README.md` describes it for people.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, include_dir};
use ksearch_task::file::{Step as At, TomlFile};
use ksearch_task::{Bottleneck, DType, Expr, FileError};
use serde::Deserialize;

use super::demo::{Demo, DemoBuffer, Fill, Gain, Program, Step};
use super::{ChipSet, Detect, Entry, Kind, Knowledge, Support, Topic};
use crate::analysis::{ChipSide, KernelClass};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../knowledge");

/// Elements a buffer of a demonstration may have.
const MAX_LEN: usize = 1 << 24;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    entry: Vec<RawEntry>,
    /// Chips that CUDA kernels are written for.
    #[serde(default)]
    source_chip: Vec<ChipSide>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    id: String,
    kind: Kind,
    topic: Option<Topic>,
    title: String,
    #[serde(default)]
    cuda: String,
    #[serde(default)]
    metal: String,
    #[serde(default)]
    mlx: String,
    support: Option<Support>,
    #[serde(default)]
    limits: Vec<String>,
    #[serde(default)]
    how: String,
    #[serde(default)]
    preserve: Vec<String>,
    chips: Vec<String>,
    sources: Vec<String>,
    #[serde(default)]
    detect: RawDetect,
    #[serde(default)]
    classes: Vec<KernelClass>,
    #[serde(default)]
    bottlenecks: Vec<Bottleneck>,
    #[serde(default)]
    strategies: Vec<String>,
    demo: Option<RawDemo>,
    #[serde(default)]
    no_demo: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDetect {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    ptx: Vec<String>,
    #[serde(default)]
    headers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDemo {
    metal: RawProgram,
    cuda: Option<RawProgram>,
    plain: Option<RawProgram>,
    buffers: Vec<RawBuffer>,
    gain: Option<RawGain>,
    fault: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProgram {
    file: String,
    steps: Vec<RawStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    kernel: String,
    groups: Vec<u32>,
    threads: Vec<u32>,
    #[serde(default)]
    shared: u32,
    buffers: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBuffer {
    name: String,
    dtype: DType,
    len: usize,
    fill: Option<Expr>,
    expect: Option<Expr>,
    #[serde(default)]
    tolerance: f64,
    #[serde(default)]
    output: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGain {
    at_least: f64,
    on: Vec<String>,
    #[serde(default)]
    none_on: BTreeMap<String, String>,
}

type Open<'a> = &'a dyn Fn(&str) -> Result<String, String>;

pub(super) fn embedded() -> Result<Knowledge, FileError> {
    let mut files: Vec<_> = Vec::new();
    collect(&EMBEDDED, &mut files);
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let mut knowledge = Knowledge::default();
    for (path, text) in files {
        let folder = Path::new(&path).parent().unwrap_or(Path::new("")).to_path_buf();
        let open = |relative: &str| {
            let file = EMBEDDED.get_file(folder.join(relative)).ok_or("there is no such file")?;
            file.contents_utf8().map(str::to_owned).ok_or_else(|| "is not UTF-8".to_owned())
        };
        read(&mut knowledge, &format!("knowledge/{path}"), text, &open, true)?;
    }
    Ok(knowledge)
}

fn collect<'a>(dir: &'a Dir<'a>, out: &mut Vec<(String, &'a str)>) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(d) => collect(d, out),
            DirEntry::File(f) => {
                let path = f.path().to_string_lossy().into_owned();
                if let (true, Some(text)) = (path.ends_with(".toml"), f.contents_utf8()) {
                    out.push((path, text));
                }
            }
        }
    }
}

pub(super) fn folder(knowledge: &mut Knowledge, dir: &Path) -> Result<(), FileError> {
    let mut files = Vec::new();
    walk(dir, 0, &mut files)?;
    files.sort();
    for path in files {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(&path).map_err(|e| FileError::whole(&shown, format!("cannot be read: {e}")))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let open = |relative: &str| std::fs::read_to_string(folder.join(relative)).map_err(|e| e.to_string());
        read(knowledge, &shown, &text, &open, false)?;
    }
    Ok(())
}

fn walk(dir: &Path, depth: usize, out: &mut Vec<PathBuf>) -> Result<(), FileError> {
    let shown = dir.display().to_string();
    let failed = |e: std::io::Error| FileError::whole(&shown, format!("cannot be read: {e}"));
    if depth > 8 {
        return Err(FileError::whole(&shown, "folders are nested more than eight deep"));
    }
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            walk(&path, depth + 1, out)?;
        } else if path.extension().is_some_and(|e| e == "toml") {
            out.push(path);
        }
    }
    Ok(())
}

/// Reads one file. Within what ships an id stands once; a user's file may replace.
fn read(knowledge: &mut Knowledge, name: &str, text: &str, open: Open<'_>, unique: bool) -> Result<(), FileError> {
    let toml = TomlFile::new(name, text);
    let raw: RawFile = toml.parse()?;
    for (i, chip) in raw.source_chip.into_iter().enumerate() {
        let rates = [chip.dram_gbs, chip.f32_gflops, chip.matrix_gflops];
        if chip.name.is_empty() || chip.sources.is_empty() || !rates.iter().all(|r| r.is_finite() && *r > 0.0) {
            let message = "a source chip has a name, positive rates and sources";
            return Err(toml.error(&[At::Key("source_chip"), At::Index(i)], message));
        }
        knowledge.sources.insert(chip.name.clone(), chip);
    }
    let mut here: Vec<String> = Vec::new();
    for (i, raw) in raw.entry.into_iter().enumerate() {
        let id = raw.id.clone();
        if here.contains(&id) || (unique && knowledge.get(&id).is_some()) {
            return Err(toml.error(&[At::Key("entry"), At::Index(i), At::Key("id")], format!("`{id}` stands twice")));
        }
        let entry = Loader { toml: &toml, open, i }.entry(raw)?;
        here.push(id);
        knowledge.insert(entry);
    }
    Ok(())
}

struct Loader<'a> {
    toml: &'a TomlFile<'a>,
    open: Open<'a>,
    i: usize,
}

impl Loader<'_> {
    fn error(&self, path: &[At<'_>], message: impl Into<String>) -> FileError {
        let whole: Vec<At<'_>> = [At::Key("entry"), At::Index(self.i)].iter().chain(path).copied().collect();
        self.toml.error(&whole, message)
    }

    fn entry(&self, raw: RawEntry) -> Result<Entry, FileError> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if raw.id.is_empty() || !raw.id.chars().all(good) {
            return Err(self.error(&[At::Key("id")], "an id is lower case letters, digits and `-`"));
        }
        let needs = |key: &'static str, missing: bool, what: &str| {
            if missing { Err(self.error(&[At::Key(key)], format!("{what} says {key}"))) } else { Ok(()) }
        };
        needs("title", raw.title.trim().is_empty(), "every entry")?;
        needs("sources", raw.sources.is_empty(), "every entry")?;
        needs("cuda", raw.cuda.trim().is_empty(), "every entry")?;
        if raw.kind == Kind::Concept {
            needs("topic", raw.topic.is_none(), "a concept")?;
            needs("support", raw.support.is_none(), "a concept")?;
            let support = raw.support.unwrap_or(Support::Direct);
            let direct = support == Support::Direct;
            needs("metal", direct && raw.metal.trim().is_empty(), "a concept with direct support")?;
            needs("how", !direct && raw.how.trim().is_empty(), "a concept without direct support")?;
        } else {
            needs("how", raw.how.trim().is_empty(), "a pattern or MLX rule")?;
        }
        let chips = ChipSet::parse(raw.chips).map_err(|m| self.error(&[At::Key("chips")], m))?;
        if raw.demo.is_some() && !raw.no_demo.is_empty() {
            return Err(self.error(&[At::Key("no_demo")], "there is a demo: a reason for having none says nothing"));
        }
        let demo = raw.demo.map(|d| self.demo(d)).transpose()?;
        let place = self.error(&[At::Key("id")], "");
        Ok(Entry {
            id: raw.id,
            kind: raw.kind,
            topic: raw.topic.unwrap_or(Topic::Launch),
            title: raw.title,
            cuda: raw.cuda.trim().to_owned(),
            metal: raw.metal.trim().to_owned(),
            mlx: raw.mlx.trim().to_owned(),
            support: raw.support.unwrap_or(Support::Direct),
            limits: raw.limits,
            how: raw.how.trim().to_owned(),
            preserve: raw.preserve,
            chips,
            sources: raw.sources,
            detect: Detect { names: raw.detect.names, ptx: raw.detect.ptx, headers: raw.detect.headers },
            classes: raw.classes,
            bottlenecks: raw.bottlenecks,
            strategies: raw.strategies,
            demo,
            no_demo: raw.no_demo,
            place: (place.file, place.line),
        })
    }

    fn demo(&self, raw: RawDemo) -> Result<Demo, FileError> {
        let names: Vec<&str> = raw.buffers.iter().map(|b| b.name.as_str()).collect();
        let metal = self.program("metal", raw.metal, &names)?;
        let cuda = raw.cuda.map(|p| self.program("cuda", p, &names)).transpose()?;
        let plain = raw.plain.map(|p| self.program("plain", p, &names)).transpose()?;
        let mut buffers = Vec::new();
        for (k, b) in raw.buffers.into_iter().enumerate() {
            let at = [At::Key("demo"), At::Key("buffers"), At::Index(k)];
            if b.len == 0 || b.len > MAX_LEN {
                return Err(self.error(&at, format!("a buffer has 1 to {MAX_LEN} elements")));
            }
            for (key, expr) in [("fill", &b.fill), ("expect", &b.expect)] {
                if let Some(e) = expr.as_ref().and_then(|e| e.check_names(&["i"]).err()) {
                    return Err(self.error(&[at[0], at[1], at[2], At::Key(key)], e.to_string()));
                }
            }
            let is_output = b.output || b.fill.is_none() || b.expect.is_some();
            let fill = b.fill.map_or(Fill::None, Fill::Values);
            buffers.push(DemoBuffer {
                name: b.name,
                dtype: b.dtype,
                len: b.len,
                fill,
                expect: b.expect,
                tolerance: b.tolerance,
                is_output,
            });
        }
        let gain = raw.gain.map(|g| Gain { at_least: g.at_least, on: g.on, none_on: g.none_on });
        let demo = Demo { metal, cuda, plain, buffers, gain, fault: raw.fault };
        // A demonstration that nothing can contradict shows nothing.
        let checkable = demo.cuda.is_some()
            || demo.plain.is_some()
            || demo.fault.is_some()
            || demo.buffers.iter().any(|b| b.expect.is_some());
        if !checkable {
            return Err(self.error(
                &[At::Key("demo")],
                "says nothing that can be checked; give a buffer `expect`, or a `cuda` or `plain` program to agree with",
            ));
        }
        if !demo.buffers.iter().any(|b| b.is_output) && demo.fault.is_none() {
            return Err(self.error(&[At::Key("demo"), At::Key("buffers")], "has no output: a buffer without `fill`"));
        }
        if demo.gain.is_some() && demo.plain.is_none() {
            return Err(self.error(&[At::Key("demo"), At::Key("gain")], "is over a `plain` program; give one"));
        }
        Ok(demo)
    }

    /// `names` are those of the demonstration's buffers.
    fn program(&self, key: &'static str, raw: RawProgram, names: &[&str]) -> Result<Program, FileError> {
        let at = [At::Key("demo"), At::Key(key)];
        let text = (self.open)(&raw.file)
            .map_err(|e| self.error(&[at[0], at[1], At::Key("file")], format!("{}: {e}", raw.file)))?;
        if raw.steps.is_empty() {
            return Err(self.error(&at, "has no steps"));
        }
        let mut steps = Vec::new();
        for (k, s) in raw.steps.into_iter().enumerate() {
            let extent = |name: &'static str, v: &[u32]| -> Result<[u32; 3], FileError> {
                let path = [at[0], at[1], At::Key("steps"), At::Index(k), At::Key(name)];
                if v.is_empty() || v.len() > 3 || v.contains(&0) {
                    return Err(self.error(&path, "is one to three positive numbers"));
                }
                let get = |i: usize| v.get(i).copied().unwrap_or(1);
                Ok([get(0), get(1), get(2)])
            };
            let buffers = s.buffers.unwrap_or_else(|| names.iter().map(|n| (*n).to_owned()).collect());
            if let Some(unknown) = buffers.iter().find(|b| !names.contains(&b.as_str())) {
                let path = [at[0], at[1], At::Key("steps"), At::Index(k), At::Key("buffers")];
                return Err(self.error(&path, format!("there is no buffer `{unknown}`")));
            }
            steps.push(Step {
                buffers,
                groups: extent("groups", &s.groups)?,
                threads: extent("threads", &s.threads)?,
                kernel: s.kernel,
                shared: s.shared,
            });
        }
        Ok(Program { file: raw.file, text, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "[[entry]]\nid = \"shuffle-xor\"\nkind = \"concept\"\ntopic = \"warp\"\ntitle = \"mine\"\ncuda = \"c\"\n\
        metal = \"m\"\nsupport = \"direct\"\nchips = [\"apple8+\"]\nsources = [\"me\"]\n";

    fn read_one(text: &str) -> Result<Knowledge, FileError> {
        let mut k = Knowledge::default();
        read(&mut k, "x.toml", text, &|_| Err("no such file".into()), true)?;
        Ok(k)
    }

    #[test]
    fn everything_that_ships_is_well_formed() {
        let k = embedded().unwrap();
        assert!(k.of(Kind::Concept).count() > 60);
        assert!(k.source_chips().contains_key("h100"));
    }

    #[test]
    fn a_users_file_is_picked_up_and_replaces_by_id() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/mine.toml"), ENTRY).unwrap();
        std::fs::write(dir.path().join("notes.md"), "not read").unwrap();
        let k = Knowledge::with_folder(dir.path()).unwrap();
        let e = k.get("shuffle-xor").unwrap();
        assert_eq!((e.title.as_str(), e.place.1), ("mine", 2));
        assert!(e.place.0.ends_with("mine.toml"));
        assert_eq!(k.iter().count(), Knowledge::embedded().unwrap().iter().count());
    }

    #[test]
    fn chips_are_named_by_name_family_or_range() {
        let chips = ksearch_apple::Chips::embedded().unwrap();
        let (m1, m3) = (chips.get("m1-max").unwrap(), chips.get("m3-max").unwrap());
        let set = |w: &str| ChipSet::parse(vec![w.into()]).unwrap();
        assert!(set("all").holds(&m1) && set("m1-max").holds(&m1) && !set("m1-max").holds(&m3));
        assert!(set("apple7").holds(&m1) && set("apple8-").holds(&m1) && !set("apple8+").holds(&m1));
        assert!(set("apple9+").holds(&m3));
        assert!(ChipSet::parse(vec!["appleX".into()]).is_err() && ChipSet::parse(vec![]).is_err());
    }

    #[test]
    fn complaints_name_the_line() {
        let demo = "[entry.demo]\nmetal = { file = \"a.metal\", steps = [{ kernel = \"k\", groups = [1], threads = [32] }] }\n\
            buffers = []\n";
        for (text, line, what) in [
            (ENTRY.replace("id = \"shuffle-xor\"", "id = \"Bad\""), 2, "lower case"),
            (ENTRY.replace("sources = [\"me\"]", "sources = []"), 10, "sources"),
            (ENTRY.replace("metal = \"m\"", "metal = \"\""), 7, "metal"),
            (ENTRY.replace("topic = \"warp\"\n", ""), 1, "topic"),
            (ENTRY.replace("apple8+", "applex"), 8, "family"),
            (ENTRY.replace("title", "titel"), 5, "titel"),
            (format!("{ENTRY}{ENTRY}"), 12, "twice"),
            (format!("{ENTRY}{demo}"), 12, "no such file"),
        ] {
            let e = read_one(&text).unwrap_err();
            assert!(e.line.abs_diff(line) <= 1 && e.message.contains(what), "{what}: {e}");
        }
    }

    #[test]
    fn a_demonstration_must_be_able_to_fail() {
        let text = format!(
            "{ENTRY}[entry.demo]\nmetal = {{ file = \"a.metal\", steps = [{{ kernel = \"k\", groups = [1], threads = [32] }}] }}\n\
             buffers = [{{ name = \"y\", dtype = \"f32\", len = 4 }}]\n"
        );
        let mut k = Knowledge::default();
        let e = read(&mut k, "x.toml", &text, &|_| Ok("kernel void k() {}".into()), true).unwrap_err();
        assert!(e.message.contains("nothing that can be checked"), "{e}");
        let text = text.replace("len = 4", "len = 4, expect = \"2 * i\"");
        read(&mut k, "x.toml", &text, &|_| Ok("kernel void k() {}".into()), true).unwrap();
    }
}
