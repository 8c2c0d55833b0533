//! The vocabulary: how MSL's words are written in C++ for OpenCL, which of the user's names would be keywords there,
//! and which type names are vectors. Data and look-ups only.

use std::borrow::Cow;

use crate::pp::Problem;
use crate::source::{Kind, Token};

/// Prefix given to user names that C++ for OpenCL reserves.
pub const RENAMED: &str = "ks_user_";

/// Names that are plain identifiers in MSL and keywords or built-in types in C++ for OpenCL.
const RESERVED: &[&str] = &[
    "local",
    "global",
    "generic",
    "pipe",
    "read_only",
    "write_only",
    "read_write",
    "vec_step",
    "event_t",
    "clk_event_t",
    "queue_t",
    "reserve_id_t",
    "ndrange_t",
    "sampler_t",
    "image1d_t",
    "image2d_t",
    "image3d_t",
    "intel_reqd_sub_group_size",
    "atomic_int",
    "atomic_uint",
    "atomic_long",
    "atomic_ulong",
    "atomic_float",
    "atomic_double",
    "atomic_flag",
    "atomic_bool",
    "atomic_size_t",
    "addrspace_cast",
    "as_float",
    "as_int",
    "as_uint",
    "__global",
    "__local",
    "__private",
    "__constant",
    "__kernel",
    "__generic",
];

/// The token as clang is to read it, where there is a `double` or where there is none.
pub fn translate(token: &Token, double: bool) -> Cow<'_, str> {
    match token.kind {
        Kind::Ident => word(&token.text),
        Kind::Number => number(&token.text, double),
        Kind::Attr => Cow::Borrowed(""),
        _ => Cow::Borrowed(&*token.text),
    }
}

fn word(text: &str) -> Cow<'_, str> {
    match text {
        "device" => Cow::Borrowed("__global"),
        "constant" => Cow::Borrowed("__constant"),
        "threadgroup" => Cow::Borrowed("__local"),
        "thread" => Cow::Borrowed("__private"),
        "kernel" | "vertex" | "fragment" => Cow::Borrowed(""),
        _ if RESERVED.contains(&text) => Cow::Owned(format!("{RENAMED}{text}")),
        _ => Cow::Borrowed(text),
    }
}

fn number(text: &str, double: bool) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    if !lower.starts_with("0x") && lower.ends_with("bf") {
        return Cow::Owned(format!("((bfloat){}f)", &text[..text.len() - 2]));
    }
    if double {
        return Cow::Borrowed(text);
    }
    // There is no double: a literal without a suffix is a float, inside templates as well.
    let hex = lower.starts_with("0x");
    let floating = if hex { lower.contains('p') } else { lower.contains(['.', 'e']) };
    if floating && lower.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Cow::Owned(format!("{text}f"));
    }
    Cow::Borrowed(text)
}

/// Scalar types that vectors are made of, with their sizes in bytes.
pub const SCALARS: &[(&str, u32)] = &[
    ("char", 1),
    ("uchar", 1),
    ("short", 2),
    ("ushort", 2),
    ("int", 4),
    ("uint", 4),
    ("long", 8),
    ("ulong", 8),
    ("half", 2),
    ("float", 4),
];

/// Element type and width of a vector type's name, e.g. `float4`; `double` says whether `double4` is one.
pub fn vector(name: &str, double: bool) -> Option<(&str, u8)> {
    let width = match name.as_bytes().last() {
        Some(c @ b'2'..=b'4') => c - b'0',
        _ => return None,
    };
    let element = &name[..name.len() - 1];
    let known = SCALARS.iter().any(|(n, _)| *n == element) || (double && element == "double");
    known.then_some((element, width))
}

/// Names that a `<` after them always makes a template.
pub fn is_template_name(name: &str) -> bool {
    matches!(
        name,
        "vec"
            | "as_type"
            | "static_cast"
            | "reinterpret_cast"
            | "const_cast"
            | "array"
            | "atomic"
            | "numeric_limits"
            | "simdgroup_matrix"
            | "matrix"
            | "decltype"
            | "is_same"
            | "is_same_v"
            | "enable_if_t"
            | "conditional_t"
    )
}

/// Types that nothing here can run, with what they belong to.
pub fn unsupported_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "sampler" => "textures",
        "acceleration_structure"
        | "instance_acceleration_structure"
        | "primitive_acceleration_structure"
        | "intersector"
        | "intersection_query"
        | "intersection_function_table"
        | "intersection_result"
        | "ray_data" => "ray tracing",
        "visible_function_table" => "function tables",
        "tensor" | "tensor_handle" | "tensor_inline" | "tensor_offset" | "cooperative_tensor" | "matmul2d" => {
            "Metal 4 tensors"
        }
        "imageblock" | "threadgroup_imageblock" | "imageblock_data" => "image blocks",
        "render_pipeline_state"
        | "compute_pipeline_state"
        | "command_buffer"
        | "render_command"
        | "compute_command" => "indirect command buffers",
        "render_grid_properties" | "mesh_grid_properties" | "object_data" => "mesh shading",
        _ if is_texture(name) => "textures",
        _ => return None,
    })
}

fn is_texture(name: &str) -> bool {
    let base = name.trim_end_matches("_array").trim_end_matches("_ms").trim_end_matches("_array");
    matches!(base, "texture1d" | "texture2d" | "texture3d" | "texturecube" | "depth2d" | "depthcube" | "texture_buffer")
}

/// Is it a spelling of `asm`?
pub fn is_asm(word: &str) -> bool {
    matches!(word, "asm" | "__asm" | "__asm__")
}

/// Refuses words that MSL does not have; `double` is none of them where it was asked for.
pub fn refuse(tokens: &[Token], double: bool) -> Result<(), Problem> {
    for (n, token) in tokens.iter().enumerate() {
        let Some(word) = token.ident() else { continue };
        // `__asm("air...")` after a declaration only names Apple's own intrinsic.
        if is_asm(word) && n > 0 && tokens[n - 1].is(")") {
            continue;
        }
        let (what, help) = match word {
            "double" if !double => ("`double` does not exist in MSL", "use `float`"),
            _ if is_asm(word) => ("inline assembly does not exist in MSL", "write it as MSL"),
            "goto" => ("`goto` does not exist in MSL", "use loops, `break` and `continue`"),
            "new" | "delete" => {
                ("memory cannot be allocated in a kernel", "declare arrays of fixed size, or pass buffers")
            }
            "throw" | "try" | "catch" => ("exceptions do not exist in MSL", "write a status to a buffer"),
            "virtual" | "dynamic_cast" | "typeid" => {
                ("virtual functions and run-time types do not exist in MSL", "use templates")
            }
            "thread_local" => {
                ("`thread_local` does not exist in MSL", "variables of a kernel belong to their thread already")
            }
            _ if word.starts_with("__ks_") => ("names that start with `__ks_` are reserved", "choose another name"),
            _ => continue,
        };
        return Err(Problem::at("forbidden-word", token.loc, what).help(help));
    }
    Ok(())
}
