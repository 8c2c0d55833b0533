//! A task file as it is written, before anything is checked. Must not know what its fields mean.

use indexmap::IndexMap;
use serde::Deserialize;

use crate::compare::Tolerance;
use crate::dtype::DType;
use crate::expr::Expr;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTask {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    /// Path of the naive kernel, relative to this file.
    pub(super) naive: Option<String>,
    /// Sizes and dtypes.
    pub(super) symbols: IndexMap<String, RawSymbol>,
    /// Scalar arguments of the operation.
    #[serde(default)]
    pub(super) params: IndexMap<String, RawParam>,
    /// Names computed from symbols, parameters and derived names before them.
    #[serde(default)]
    pub(super) derived: IndexMap<String, Expr>,
    #[serde(default)]
    pub(super) constraint: Vec<RawConstraint>,
    pub(super) tensors: IndexMap<String, RawTensor>,
    /// Per dtype.
    pub(super) tolerance: IndexMap<DType, Tolerance>,
    pub(super) floor: RawFloor,
    pub(super) reference: RawReference,
    #[serde(default)]
    pub(super) metamorphic: Vec<RawMetamorphic>,
    /// Values that workloads need not repeat.
    #[serde(default)]
    pub(super) defaults: IndexMap<String, Expr>,
    pub(super) workload: Vec<RawWorkload>,
}

/// What tells an extension from a whole task.
#[derive(Deserialize)]
pub(super) struct RawKindOfFile {
    pub(super) extends: Option<String>,
}

/// A shipped task with other workloads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExtension {
    /// Name of the shipped task; everything but what stands here is its.
    pub(super) extends: String,
    pub(super) name: String,
    pub(super) title: String,
    #[serde(default)]
    pub(super) defaults: IndexMap<String, Expr>,
    pub(super) workload: Vec<RawWorkload>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSymbol {
    #[serde(default)]
    pub(super) kind: RawKind,
    #[serde(default)]
    pub(super) doc: String,
    pub(super) min: Option<i64>,
    pub(super) max: Option<i64>,
    /// Allowed values: integers, or dtype names.
    #[serde(default)]
    pub(super) values: Vec<Expr>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawKind {
    #[default]
    Int,
    DType,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawParam {
    /// `real`, `int` or `flag`.
    pub(super) kind: ParamKind,
    #[serde(default)]
    pub(super) doc: String,
    pub(super) default: Option<Expr>,
    pub(super) min: Option<i64>,
    pub(super) max: Option<i64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ParamKind {
    Real,
    Int,
    Flag,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConstraint {
    pub(super) expr: Expr,
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTensor {
    pub(super) role: RawRole,
    pub(super) dtype: Expr,
    pub(super) shape: Vec<Expr>,
    #[serde(default)]
    pub(super) doc: String,
    pub(super) when: Option<Expr>,
    #[serde(default)]
    pub(super) generate: Vec<RawGenerator>,
    #[serde(default = "yes")]
    pub(super) matters: bool,
}

pub(super) fn yes() -> bool {
    true
}

pub(super) fn one() -> f64 {
    1.0
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawRole {
    Input,
    Output,
    InOut,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGenerator {
    pub(super) kind: String,
    pub(super) when: Option<Expr>,
    #[serde(default = "one")]
    pub(super) weight: f64,
    pub(super) mean: Option<f64>,
    pub(super) std: Option<f64>,
    pub(super) lo: Option<f64>,
    pub(super) hi: Option<f64>,
    pub(super) df: Option<f64>,
    pub(super) factor: Option<f64>,
    pub(super) share: Option<f64>,
    pub(super) value: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFloor {
    pub(super) flops: Expr,
    pub(super) specials: Option<Expr>,
    pub(super) bytes: Option<Expr>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawReference {
    Builtin(String),
    Source(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMetamorphic {
    pub(super) relation: RawRelation,
    pub(super) input: Option<String>,
    pub(super) output: Option<String>,
    /// Axis per tensor.
    pub(super) axes: Option<IndexMap<String, usize>>,
    pub(super) when: Option<Expr>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawRelation {
    Linear,
    ShiftInvariant,
    PermutationInvariant,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkload {
    pub(super) label: String,
    pub(super) set: RawSet,
    #[serde(default)]
    pub(super) purpose: RawPurpose,
    pub(super) kind: String,
    #[serde(default = "one")]
    pub(super) weight: f64,
    #[serde(default)]
    pub(super) values: IndexMap<String, Expr>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawSet {
    Search,
    HeldOut,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawPurpose {
    Check,
    Time,
    #[default]
    Both,
}
