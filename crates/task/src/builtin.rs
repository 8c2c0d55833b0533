//! Tasks and kernels that ship with the program, embedded at build time. Must not know what they compute.

use std::path::Path;

use crate::candidate::{self, Candidate};
use crate::file::FileError;
use crate::spec::Task;

/// Embedded files, by path in the repository.
const FILES: &[(&str, &str)] = &[
    ("tasks/attention.toml", include_str!("../../../tasks/attention.toml")),
    ("tasks/attention_decode.toml", include_str!("../../../tasks/attention_decode.toml")),
    ("tasks/attention_long.toml", include_str!("../../../tasks/attention_long.toml")),
    ("tasks/conv1d_silu.toml", include_str!("../../../tasks/conv1d_silu.toml")),
    ("tasks/gated_rms_norm.toml", include_str!("../../../tasks/gated_rms_norm.toml")),
    ("tasks/prefix_sum.toml", include_str!("../../../tasks/prefix_sum.toml")),
    ("tasks/rms_norm.toml", include_str!("../../../tasks/rms_norm.toml")),
    ("tasks/scan_step.toml", include_str!("../../../tasks/scan_step.toml")),
    ("tasks/selective_scan.toml", include_str!("../../../tasks/selective_scan.toml")),
    ("tasks/softmax.toml", include_str!("../../../tasks/softmax.toml")),
    ("tasks/ssd.toml", include_str!("../../../tasks/ssd.toml")),
    ("kernels/attention/naive.metal", include_str!("../../../kernels/attention/naive.metal")),
    ("kernels/attention/naive.cpp", include_str!("../../../kernels/attention/naive.cpp")),
    ("kernels/attention/naive.cu", include_str!("../../../kernels/attention/naive.cu")),
    ("kernels/conv1d_silu/naive.metal", include_str!("../../../kernels/conv1d_silu/naive.metal")),
    ("kernels/conv1d_silu/naive.cu", include_str!("../../../kernels/conv1d_silu/naive.cu")),
    ("kernels/gated_rms_norm/naive.metal", include_str!("../../../kernels/gated_rms_norm/naive.metal")),
    ("kernels/gated_rms_norm/naive.cu", include_str!("../../../kernels/gated_rms_norm/naive.cu")),
    ("kernels/prefix_sum/naive.metal", include_str!("../../../kernels/prefix_sum/naive.metal")),
    ("kernels/scan_step/naive.metal", include_str!("../../../kernels/scan_step/naive.metal")),
    ("kernels/scan_step/naive.cu", include_str!("../../../kernels/scan_step/naive.cu")),
    ("kernels/selective_scan/naive.metal", include_str!("../../../kernels/selective_scan/naive.metal")),
    ("kernels/gated_rms_norm/naive.cpp", include_str!("../../../kernels/gated_rms_norm/naive.cpp")),
    ("kernels/conv1d_silu/naive.cpp", include_str!("../../../kernels/conv1d_silu/naive.cpp")),
    ("kernels/scan_step/naive.cpp", include_str!("../../../kernels/scan_step/naive.cpp")),
    ("kernels/ssd/naive.cpp", include_str!("../../../kernels/ssd/naive.cpp")),
    ("kernels/selective_scan/naive.cpp", include_str!("../../../kernels/selective_scan/naive.cpp")),
    ("kernels/selective_scan/naive.cu", include_str!("../../../kernels/selective_scan/naive.cu")),
    ("kernels/softmax/naive.metal", include_str!("../../../kernels/softmax/naive.metal")),
    ("kernels/softmax/naive.cpp", include_str!("../../../kernels/softmax/naive.cpp")),
    ("kernels/ssd/naive.metal", include_str!("../../../kernels/ssd/naive.metal")),
    ("kernels/ssd/naive.cu", include_str!("../../../kernels/ssd/naive.cu")),
    ("kernels/conv1d_silu/reference.cpp", include_str!("../../../kernels/conv1d_silu/reference.cpp")),
    ("kernels/gated_rms_norm/reference.cpp", include_str!("../../../kernels/gated_rms_norm/reference.cpp")),
    ("kernels/prefix_sum/reference.cpp", include_str!("../../../kernels/prefix_sum/reference.cpp")),
    ("kernels/scan_step/reference.cpp", include_str!("../../../kernels/scan_step/reference.cpp")),
    ("kernels/ssd/reference.cpp", include_str!("../../../kernels/ssd/reference.cpp")),
];

/// Names of the tasks that ship, in alphabetical order.
pub fn task_names() -> Vec<&'static str> {
    FILES.iter().filter_map(|(path, _)| path.strip_prefix("tasks/")?.strip_suffix(".toml")).collect()
}

/// Those that are not other tasks with other workloads.
pub(crate) fn whole_task_names() -> Vec<&'static str> {
    let whole = |name: &&str| file(&format!("tasks/{name}.toml")).is_some_and(|t| !t.contains("\nextends ="));
    task_names().into_iter().filter(whole).collect()
}

/// The text of a file that ships, by its path in the repository.
pub fn file(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(p, _)| *p == path).map(|(_, text)| *text)
}

/// A task: by path if `name` looks like one (it has a `/` or ends in `.toml`), else one that ships.
pub fn task(name: &str) -> Result<Task, FileError> {
    if name.contains('/') || name.contains('\\') || name.strip_suffix(".toml").is_some() {
        return Task::load(Path::new(name));
    }
    let path = format!("tasks/{name}.toml");
    let Some(text) = file(&path) else {
        let message = format!(
            "no task of this name ships (there are: {}); give a path to a .toml file for your own",
            task_names().join(", ")
        );
        return Err(FileError::whole(name, message));
    };
    Task::parse(&path, text, &|relative| {
        file(&inside_repository("tasks", relative)).map(str::to_owned).ok_or_else(|| "it is not embedded".to_owned())
    })
}

/// A kernel that ships, by its path in the repository, e.g. `kernels/softmax/naive.metal`.
pub fn kernel(path: &str) -> Result<Candidate, FileError> {
    let text = file(path).ok_or_else(|| FileError::whole(path, "no kernel of this path ships"))?;
    candidate::from_source(path, text, None, &|_| None)
}

/// `relative`, as written in a file of `folder`, as a path from the repository's root.
fn inside_repository(folder: &str, relative: &str) -> String {
    let mut parts = vec![folder];
    for part in relative.split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_loads() {
        let names = [
            "attention",
            "attention_decode",
            "attention_long",
            "conv1d_silu",
            "gated_rms_norm",
            "prefix_sum",
            "rms_norm",
            "scan_step",
            "selective_scan",
            "softmax",
            "ssd",
        ];
        assert_eq!(task_names(), names);
        for name in task_names() {
            let task = task(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(task.name, name);
            assert!(task.naive.is_some(), "{name}");
        }
        for (path, _) in FILES.iter().filter(|(p, _)| p.starts_with("kernels/")) {
            kernel(path).unwrap_or_else(|e| panic!("{e}"));
        }
    }

    #[test]
    fn the_embedded_files_are_all_there_are() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for entry in std::fs::read_dir(root.join("tasks")).unwrap() {
            let path = format!("tasks/{}", entry.unwrap().file_name().display());
            assert!(file(&path).is_some(), "{path} is not embedded");
        }
    }

    #[test]
    fn unknown_names_list_what_there_is() {
        assert!(task("atention").unwrap_err().message.contains("attention"));
        assert!(task("./no/such.toml").unwrap_err().message.contains("cannot be read"));
    }
}
