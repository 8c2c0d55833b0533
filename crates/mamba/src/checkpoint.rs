//! Checkpoints on disk: safetensors files, one or many, mapped into memory; and writing one.
//! Must not know what the tensors mean.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::weights::{Tensor, WeightSource, WeightType, inventory};

/// One mapped file with its parsed header.
struct Shard {
    path: PathBuf,
    map: Mmap,
    metadata: Metadata,
    /// Where the tensors' bytes begin.
    data_start: usize,
}

/// A folder in Hugging Face's layout, its weights mapped, not copied.
pub struct Checkpoint {
    dir: PathBuf,
    /// What the model is.
    pub config: Config,
    shards: Vec<Shard>,
    /// Tensor name (as in the files) to shard.
    index: BTreeMap<String, usize>,
}

impl Checkpoint {
    /// Opens a folder with `config.json` and `model.safetensors` (or its sharded form). Headers are checked whole: a
    /// file that was cut short is refused here, not when a tensor is first touched.
    pub fn open(dir: &Path) -> Result<Self> {
        let config = Config::from_file(&dir.join("config.json"))?;
        let mut files = Vec::new();
        let single = dir.join("model.safetensors");
        let index_path = dir.join("model.safetensors.index.json");
        if single.is_file() {
            files.push(single);
        } else if index_path.is_file() {
            files = shard_names(dir, &index_path)?;
        } else {
            return Err(Error::MissingWeights { dir: dir.to_owned(), hint: pickle_hint(dir) });
        }
        let mut shards = Vec::with_capacity(files.len());
        let mut index = BTreeMap::new();
        for path in files {
            let shard = Shard::open(path)?;
            for name in shard.metadata.tensors().into_keys() {
                index.insert(name, shards.len());
            }
            shards.push(shard);
        }
        Ok(Self { dir: dir.to_owned(), config, shards, index })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Names under which files in the wild keep a tensor: the original checkpoints say `embedding`, and some exports
    /// leave the `backbone.` prefix out.
    fn aliases(name: &str) -> Vec<String> {
        let mut out = vec![name.to_owned(), name.replacen("embeddings.", "embedding.", 1)];
        if let Some(bare) = name.strip_prefix("backbone.") {
            out.push(bare.to_owned());
            out.push(bare.replacen("embeddings.", "embedding.", 1));
        }
        out
    }
}

impl WeightSource for Checkpoint {
    fn tensor(&self, name: &str) -> Result<Tensor<'_>> {
        let found = Self::aliases(name).into_iter().find_map(|alias| {
            let shard = self.shards.get(*self.index.get(&alias)?)?;
            Some((shard, shard.metadata.info(&alias)?))
        });
        match found {
            Some((shard, info)) => shard.tensor(name, info, self.place()),
            None => Err(Error::MissingTensor { place: self.place(), name: name.into() }),
        }
    }

    fn place(&self) -> String {
        self.dir.display().to_string()
    }
}

impl Shard {
    fn open(path: PathBuf) -> Result<Self> {
        let file = File::open(&path).map_err(|e| Error::io(&path, e))?;
        let length = file.metadata().map_err(|e| Error::io(&path, e))?.len();
        let broken = |reason: String| Error::Safetensors { path: path.clone(), reason };
        if length < 8 {
            return Err(broken(format!("it has {length} bytes, less than the header's length field")));
        }
        #[allow(unsafe_code)]
        // SAFETY: the map is read-only. That nobody else shrinks the file meanwhile cannot be checked by any program;
        // checkpoints are not edited in place, and every reader of safetensors files shares this assumption.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io(&path, e))?;
        // Deserialising checks the header, that the tensors tile the data without gap or overlap, and that the data is
        // exactly as long as they say.
        SafeTensors::deserialize(&map).map_err(|e| broken(e.to_string()))?;
        let (header, metadata) = SafeTensors::read_metadata(&map).map_err(|e| broken(e.to_string()))?;
        Ok(Self { data_start: 8 + header, path, map, metadata })
    }

    fn tensor(&self, name: &str, info: &TensorInfo, place: String) -> Result<Tensor<'_>> {
        let kind = match info.dtype {
            Dtype::F32 => WeightType::F32,
            Dtype::F16 => WeightType::F16,
            Dtype::BF16 => WeightType::Bf16,
            other => return Err(Error::TensorDtype { place, name: name.into(), found: format!("{other:?}") }),
        };
        let (start, end) = info.data_offsets;
        let Some(data) = self.map.get(self.data_start + start..self.data_start + end) else {
            return Err(Error::Safetensors {
                path: self.path.clone(),
                reason: format!("`{name}` lies past the file's end"),
            });
        };
        Ok(Tensor { kind, shape: info.shape.clone(), data: Cow::Borrowed(data) })
    }
}

/// Files named by `model.safetensors.index.json`, each once. Names that leave the folder are refused.
fn shard_names(dir: &Path, index_path: &Path) -> Result<Vec<PathBuf>> {
    let text = std::fs::read_to_string(index_path).map_err(|e| Error::io(index_path, e))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| Error::json(index_path, &e))?;
    let bad = |reason: &str| Error::Config {
        path: index_path.display().to_string(),
        field: "weight_map",
        reason: reason.into(),
    };
    let map = value.get("weight_map").and_then(Value::as_object).ok_or_else(|| bad("must be an object"))?;
    let mut names: Vec<&str> = Vec::new();
    for file in map.values() {
        let file = file.as_str().ok_or_else(|| bad("must map tensor names to file names"))?;
        if file.contains(['/', '\\']) || file.starts_with('.') {
            return Err(bad(&format!("names `{file}`, which is not a plain file name")));
        }
        if !names.contains(&file) {
            names.push(file);
        }
    }
    Ok(names.into_iter().map(|n| dir.join(n)).collect())
}

fn pickle_hint(dir: &Path) -> String {
    if dir.join("pytorch_model.bin").is_file() {
        "; there is `pytorch_model.bin`, a pickle, which can run code when read and is not read here: convert it with \
         `safetensors.torch.save_file(torch.load(\"pytorch_model.bin\", weights_only=True), \"model.safetensors\")`"
            .into()
    } else {
        String::new()
    }
}

/// Writes `config.json` and `model.safetensors` with the tensors of `source`, converted to f32.
pub fn export(config: &Config, source: &dyn WeightSource, dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, e))?;
    let config_path = dir.join("config.json");
    let text = format!("{:#}\n", config.to_json());
    std::fs::write(&config_path, text).map_err(|e| Error::io(&config_path, e))?;

    // Written by hand, one tensor at a time: the library's writer wants all tensors in memory at once.
    let tensors = inventory(config);
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".into(), json!({"format": "pt"}));
    let mut offset = 0;
    for (name, shape) in &tensors {
        let bytes = 4 * shape.iter().product::<usize>();
        header.insert(name.clone(), json!({"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + bytes]}));
        offset += bytes;
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');

    let path = dir.join("model.safetensors");
    let file = File::create(&path).map_err(|e| Error::io(&path, e))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut put = |bytes: &[u8]| out.write_all(bytes).map_err(|e| Error::io(&path, e));
    put(&(header.len() as u64).to_le_bytes())?;
    put(&header)?;
    for (name, shape) in &tensors {
        let tensor = crate::weights::checked(source, name, shape)?;
        for value in tensor.to_f32() {
            put(&value.to_le_bytes())?;
        }
    }
    out.flush().map_err(|e| Error::io(&path, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomWeights;

    fn small() -> Config {
        let mut config = Config::preset("mamba-130m").unwrap().with_layers(1);
        (config.vocab, config.d_model, config.d_inner) = (48, 16, 32);
        config.arch = crate::config::Arch::Mamba1 { dt_rank: 2 };
        config
    }

    fn written() -> (tempfile::TempDir, Config) {
        let (dir, config) = (tempfile::tempdir().unwrap(), small());
        export(&config, &RandomWeights::new(&config, 7), dir.path()).unwrap();
        (dir, config)
    }

    #[test]
    fn export_and_open_give_the_same_bits() {
        let (dir, config) = written();
        let checkpoint = Checkpoint::open(dir.path()).unwrap();
        assert_eq!(checkpoint.config, config);
        let random = RandomWeights::new(&config, 7);
        for (name, _) in inventory(&config) {
            let (a, b) = (checkpoint.tensor(&name).unwrap().to_f32(), random.tensor(&name).unwrap().to_f32());
            assert!(a.iter().zip(&b).all(|(x, y)| x.to_bits() == y.to_bits()) && a.len() == b.len(), "{name}");
        }
    }

    #[test]
    fn a_truncated_file_is_refused_at_any_length() {
        let (dir, _) = written();
        let path = dir.path().join("model.safetensors");
        let whole = std::fs::read(&path).unwrap();
        for keep in [0, 3, 8, 100, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..keep]).unwrap();
            let e = Checkpoint::open(dir.path()).err().expect("refused");
            assert!(matches!(e, Error::Safetensors { .. }), "{keep}: {e}");
            assert!(e.to_string().contains("corrupt or cut short"));
        }
    }

    #[test]
    fn a_corrupt_header_is_refused() {
        let (dir, _) = written();
        let path = dir.path().join("model.safetensors");
        let whole = std::fs::read(&path).unwrap();
        for (at, byte) in [(0, 0xff), (7, 0xff), (8, b'['), (40, 0)] {
            let mut bad = whole.clone();
            bad[at] = byte;
            std::fs::write(&path, &bad).unwrap();
            assert!(matches!(Checkpoint::open(dir.path()), Err(Error::Safetensors { .. })), "{at}");
        }
    }

    #[test]
    fn missing_weights_say_what_to_do() {
        let (dir, _) = written();
        std::fs::rename(dir.path().join("model.safetensors"), dir.path().join("pytorch_model.bin")).unwrap();
        let e = Checkpoint::open(dir.path()).err().expect("refused").to_string();
        assert!(e.contains("save_file"), "{e}");
        std::fs::remove_file(dir.path().join("config.json")).unwrap();
        assert!(matches!(Checkpoint::open(dir.path()), Err(Error::Io { .. })));
    }

    #[test]
    fn shards_are_found_and_may_not_leave_the_folder() {
        let (dir, config) = written();
        std::fs::rename(dir.path().join("model.safetensors"), dir.path().join("model-1.safetensors")).unwrap();
        let index = dir.path().join("model.safetensors.index.json");
        std::fs::write(&index, r#"{"weight_map": {"backbone.norm_f.weight": "model-1.safetensors"}}"#).unwrap();
        let checkpoint = Checkpoint::open(dir.path()).unwrap();
        assert_eq!(checkpoint.tensor("backbone.norm_f.weight").unwrap().len(), config.d_model);
        std::fs::write(&index, r#"{"weight_map": {"a": "../other.safetensors"}}"#).unwrap();
        assert!(Checkpoint::open(dir.path()).err().expect("refused").to_string().contains("plain file name"));
    }

    #[test]
    fn a_config_of_another_model_is_noticed() {
        let (dir, config) = written();
        let mut other = config.clone();
        other.layers = 2;
        std::fs::write(dir.path().join("config.json"), other.to_json().to_string()).unwrap();
        let checkpoint = Checkpoint::open(dir.path()).unwrap();
        let missing = checkpoint.tensor("backbone.layers.1.norm.weight").unwrap_err();
        assert!(missing.to_string().contains("belong to these weights"), "{missing}");
        let shape = crate::weights::checked(&checkpoint, "backbone.norm_f.weight", &[99]).unwrap_err();
        assert!(matches!(shape, Error::TensorShape { .. }));
    }
}
