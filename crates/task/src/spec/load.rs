//! Task files: TOML read, checked and turned into a [`Task`], every complaint with file, line and column.
//! `raw` has the format; `tasks/softmax.toml` is a commented example.

use std::path::Path;

use indexmap::IndexMap;

use super::raw::{
    ParamKind, RawExtension, RawGenerator, RawKind, RawKindOfFile, RawMetamorphic, RawPurpose, RawReference,
    RawRelation, RawRole, RawSet, RawSymbol, RawTask, RawTensor, RawWorkload,
};
use super::{
    Constraint, Floor, Kind, Metamorphic, Purpose, Reference, Relation, Role, Set, Symbol, Task, TaskError, TensorSpec,
    Workload,
};
use crate::candidate::{self, Candidate};
use crate::compare::Tolerance;
use crate::dtype::DType;
use crate::expr::Expr;
use crate::file::{FileError, Step, TomlFile, steps};
use crate::generate::{Distribution, Generator};
use crate::reference::Builtin;

pub(super) fn from_path(path: &Path) -> Result<Task, FileError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| FileError::whole(&shown, format!("cannot be read: {e}")))?;
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    from_text(&shown, &text, &|relative| std::fs::read_to_string(folder.join(relative)).map_err(|e| e.to_string()))
}

pub(super) fn from_text(
    name: &str,
    text: &str,
    open: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Task, FileError> {
    let toml = TomlFile::new(name, text);
    let loader = Loader { toml: &toml, open };
    if toml.parse::<RawKindOfFile>()?.extends.is_some() {
        return loader.extension(toml.parse()?);
    }
    loader.task(toml.parse()?)
}

struct Loader<'a> {
    toml: &'a TomlFile<'a>,
    open: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Loader<'_> {
    fn name(&self, name: &str) -> Result<(), FileError> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(good) {
            return Err(self.toml.error(steps!["name"], "a task's name is lower case letters, digits and `_`"));
        }
        Ok(())
    }

    fn extension(&self, raw: RawExtension) -> Result<Task, FileError> {
        self.name(&raw.name)?;
        // Whole tasks only: an extension of an extension would hide where its workloads come from.
        let known = crate::builtin::whole_task_names();
        if !known.contains(&raw.extends.as_str()) {
            let message = format!("only a shipped task can be extended, by its name: {}", known.join(", "));
            return Err(self.toml.error(steps!["extends"], message));
        }
        let base = crate::builtin::task(&raw.extends)?;
        let task = Task { name: raw.name, title: raw.title, workloads: Vec::new(), ..base };
        self.with_workloads(task, &raw.defaults, raw.workload)
    }

    fn with_workloads(
        &self,
        mut task: Task,
        defaults: &IndexMap<String, Expr>,
        workloads: Vec<RawWorkload>,
    ) -> Result<Task, FileError> {
        if let Some(name) = defaults.keys().find(|k| task.symbol(k).is_none()) {
            return Err(self.toml.error(steps!["defaults", name], "no such symbol or parameter"));
        }
        for (i, workload) in workloads.into_iter().enumerate() {
            let workload = self.workload(&task, defaults, i, workload)?;
            task.workloads.push(workload);
        }
        self.workload_sets(&task)?;
        Ok(task)
    }

    fn task(&self, raw: RawTask) -> Result<Task, FileError> {
        self.name(&raw.name)?;
        let symbols = self.symbols(&raw)?;
        let mut names: Vec<&str> = symbols.iter().map(|s| s.name.as_str()).collect();
        for (name, expr) in &raw.derived {
            self.identifier(steps!["derived", name], name)?;
            if names.contains(&name.as_str()) || DType::parse(name).is_some() {
                return Err(self.toml.error(steps!["derived", name], format!("`{name}` is taken already")));
            }
            self.check(steps!["derived", name], expr, &names)?;
            names.push(name);
        }
        let mut constraints = Vec::new();
        for (i, c) in raw.constraint.into_iter().enumerate() {
            self.check(steps!["constraint", i, "expr"], &c.expr, &names)?;
            constraints.push(Constraint { expr: c.expr, why: c.why });
        }
        let mut tensors = Vec::new();
        for (name, tensor) in raw.tensors {
            tensors.push(self.tensor(&name, tensor, &names)?);
        }
        for needed in [Role::Input, Role::Output] {
            let wanted = |t: &TensorSpec| if needed == Role::Input { t.role.is_read() } else { t.role.is_written() };
            if !tensors.iter().any(wanted) {
                let message = format!("a task needs at least one tensor with role \"{}\"", role_name(needed));
                return Err(self.toml.error(steps!["tensors"], message));
            }
        }
        let specials = raw.floor.specials.unwrap_or_else(|| Expr::int(0));
        self.check(steps!["floor", "flops"], &raw.floor.flops, &names)?;
        self.check(steps!["floor", "specials"], &specials, &names)?;
        if let Some(bytes) = &raw.floor.bytes {
            self.check(steps!["floor", "bytes"], bytes, &names)?;
        }
        let floor = Floor { flops: raw.floor.flops, specials, bytes: raw.floor.bytes };
        self.tolerances(&raw.tolerance)?;
        let metamorphic = self.metamorphic(raw.metamorphic, &tensors, &names)?;
        let reference = match raw.reference {
            RawReference::Builtin(builtin) => Reference::Builtin(Builtin::parse(&builtin).ok_or_else(|| {
                let known: Vec<_> = Builtin::ALL.iter().map(|b| b.name()).collect();
                let message = format!("no built-in reference `{builtin}` (known: {})", known.join(", "));
                self.toml.error(steps!["reference", "builtin"], message)
            })?),
            RawReference::Source(file) => {
                Reference::Source(Box::new(self.candidate(steps!["reference", "source"], &file)?))
            }
        };
        let naive = raw.naive.map(|file| self.candidate(steps!["naive"], &file)).transpose()?;
        let derived = raw.derived.into_iter().collect();
        let task = Task {
            family: raw.name.clone(),
            name: raw.name,
            title: raw.title,
            description: raw.description.trim().to_owned(),
            symbols,
            derived,
            constraints,
            tensors,
            tolerances: raw.tolerance,
            floor,
            reference,
            naive,
            metamorphic,
            workloads: Vec::new(),
        };
        self.with_workloads(task, &raw.defaults, raw.workload)
    }

    fn symbols(&self, raw: &RawTask) -> Result<Vec<Symbol>, FileError> {
        let mut symbols: Vec<Symbol> = Vec::new();
        let add = |at: &[Step<'_>], symbol: Symbol, symbols: &mut Vec<Symbol>| {
            self.identifier(at, &symbol.name)?;
            if DType::parse(&symbol.name).is_some() || symbols.iter().any(|s| s.name == symbol.name) {
                return Err(self.toml.error(at, format!("`{}` is taken already", symbol.name)));
            }
            symbols.push(symbol);
            Ok(())
        };
        for (name, raw) in &raw.symbols {
            let at = steps!["symbols", name];
            let kind = self.symbol_kind(at, raw)?;
            let symbol = Symbol { name: name.clone(), kind, parameter: false, default: None, doc: raw.doc.clone() };
            add(at, symbol, &mut symbols)?;
        }
        for (name, param) in &raw.params {
            let at = steps!["params", name];
            let kind = match param.kind {
                ParamKind::Real => Kind::Real,
                ParamKind::Flag => Kind::Flag,
                ParamKind::Int => Kind::Int {
                    min: param.min.unwrap_or(i64::from(i32::MIN)),
                    max: param.max.unwrap_or(i64::from(i32::MAX)),
                    values: Vec::new(),
                },
            };
            if !matches!(param.kind, ParamKind::Int) && (param.min.is_some() || param.max.is_some()) {
                return Err(self.toml.error(at, "min and max are for integers; state a [[constraint]] instead"));
            }
            if let Some(default) = &param.default {
                let names: Vec<_> = symbols.iter().map(|s| s.name.as_str()).collect();
                self.check(steps!["params", name, "default"], default, &names)?;
            }
            let (default, doc) = (param.default.clone(), param.doc.clone());
            add(at, Symbol { name: name.clone(), kind, parameter: true, default, doc }, &mut symbols)?;
        }
        Ok(symbols)
    }

    fn symbol_kind(&self, at: &[Step<'_>], raw: &RawSymbol) -> Result<Kind, FileError> {
        match raw.kind {
            RawKind::Int => {
                let number =
                    |v: &Expr| v.eval_int(&crate::expr::Empty).map_err(|e| self.toml.error(at, format!("values: {e}")));
                let values = raw.values.iter().map(number).collect::<Result<_, _>>()?;
                Ok(Kind::Int { min: raw.min.unwrap_or(1), max: raw.max.unwrap_or(i64::from(i32::MAX)), values })
            }
            RawKind::DType => {
                let dtype = |v: &Expr| {
                    let known: Vec<_> = DType::ALL.iter().map(|d| d.name()).collect();
                    let message = || format!("`{v}` is not a dtype (known: {})", known.join(", "));
                    DType::parse(v.text()).ok_or_else(|| self.toml.error(at, message()))
                };
                let values: Vec<_> = raw.values.iter().map(dtype).collect::<Result<_, _>>()?;
                if values.is_empty() {
                    return Err(self
                        .toml
                        .error(at, "a dtype symbol lists what it may be: values = [\"f32\", \"f16\"]"));
                }
                Ok(Kind::DType(values))
            }
        }
    }

    fn tensor(&self, name: &str, raw: RawTensor, names: &[&str]) -> Result<TensorSpec, FileError> {
        let at = steps!["tensors", name];
        self.identifier(at, name)?;
        if names.contains(&name) {
            return Err(self.toml.error(at, format!("`{name}` is the name of a symbol already")));
        }
        self.check(steps!["tensors", name, "dtype"], &raw.dtype, names)?;
        for (axis, extent) in raw.shape.iter().enumerate() {
            self.check(steps!["tensors", name, "shape", axis], extent, names)?;
        }
        if let Some(when) = &raw.when {
            self.check(steps!["tensors", name, "when"], when, names)?;
        }
        let role = match raw.role {
            RawRole::Input => Role::Input,
            RawRole::Output => Role::Output,
            RawRole::InOut => Role::InOut,
        };
        if role.is_read() == raw.generate.is_empty() {
            let message = if role.is_read() {
                "a tensor that is read says how it is drawn: generate = [{ kind = \"normal\" }]"
            } else {
                "an output is not drawn; remove `generate`"
            };
            return Err(self.toml.error(at, message));
        }
        let mut generators = Vec::new();
        for (i, generator) in raw.generate.into_iter().enumerate() {
            let at = steps!["tensors", name, "generate", i];
            if let Some(when) = &generator.when {
                self.check(at, when, names)?;
            }
            if !(generator.weight > 0.0 && generator.weight.is_finite()) {
                return Err(self.toml.error(at, "the weight must be positive"));
            }
            let distribution = distribution(&generator).map_err(|m| self.toml.error(at, m))?;
            generators.push(Generator { distribution, when: generator.when, weight: generator.weight });
        }
        Ok(TensorSpec {
            name: name.to_owned(),
            role,
            dtype: raw.dtype,
            shape: raw.shape,
            when: raw.when,
            generators,
            matters: raw.matters && role.is_read(),
            doc: raw.doc,
        })
    }

    fn tolerances(&self, tolerances: &IndexMap<DType, Tolerance>) -> Result<(), FileError> {
        for (dtype, t) in tolerances {
            if [t.max, t.rms, t.row].iter().any(|v| !(*v >= 0.0 && *v < 1.0)) {
                let message = "tolerances are fractions of the output's magnitude, at least 0 and below 1";
                return Err(self.toml.error(steps!["tolerance", dtype.name()], message));
            }
        }
        Ok(())
    }

    fn metamorphic(
        &self,
        raw: Vec<RawMetamorphic>,
        tensors: &[TensorSpec],
        names: &[&str],
    ) -> Result<Vec<Metamorphic>, FileError> {
        let mut all = Vec::new();
        for (i, m) in raw.into_iter().enumerate() {
            let known = |name: String, key: &str| {
                if tensors.iter().any(|t| t.name == name) {
                    return Ok(name);
                }
                Err(self.toml.error(steps!["metamorphic", i, key], format!("there is no tensor `{name}`")))
            };
            let want = |value: Option<String>, key: &str| match value {
                Some(name) => known(name, key),
                None => Err(self.toml.error(steps!["metamorphic", i], format!("this relation needs `{key}`"))),
            };
            if let Some(when) = &m.when {
                self.check(steps!["metamorphic", i, "when"], when, names)?;
            }
            let relation = match m.relation {
                RawRelation::Linear => {
                    Relation::Linear { input: want(m.input, "input")?, output: want(m.output, "output")? }
                }
                RawRelation::ShiftInvariant => Relation::ShiftInvariant { input: want(m.input, "input")? },
                RawRelation::PermutationInvariant => {
                    let mut inputs = Vec::new();
                    for (name, axis) in m.axes.unwrap_or_default() {
                        let rank = tensors.iter().find(|t| t.name == name).map_or(0, |t| t.shape.len());
                        if axis >= rank {
                            let message = format!("there is no axis {axis} of a tensor `{name}`");
                            return Err(self.toml.error(steps!["metamorphic", i, "axes"], message));
                        }
                        inputs.push((name, axis));
                    }
                    if inputs.is_empty() {
                        let message = "this relation needs `axes = { k = 2, v = 2 }`";
                        return Err(self.toml.error(steps!["metamorphic", i], message));
                    }
                    Relation::PermutationInvariant { inputs }
                }
            };
            all.push(Metamorphic { relation, when: m.when });
        }
        Ok(all)
    }

    fn workload(
        &self,
        task: &Task,
        defaults: &IndexMap<String, Expr>,
        i: usize,
        raw: RawWorkload,
    ) -> Result<Workload, FileError> {
        if task.workload(&raw.label).is_some() {
            let message = format!("there is a workload `{}` already", raw.label);
            return Err(self.toml.error(steps!["workload", i, "label"], message));
        }
        if !(raw.weight > 0.0 && raw.weight.is_finite()) {
            return Err(self.toml.error(steps!["workload", i, "weight"], "the weight must be positive"));
        }
        let mut given = defaults.clone();
        given.extend(raw.values);
        let refuse = |name: Option<&str>, error: TaskError| {
            let message = format!("workload `{}`: {error}", raw.label);
            match name {
                Some(name) => self.toml.error(steps!["workload", i, "values", name], message),
                None => self.toml.error(steps!["workload", i], message),
            }
        };
        let env = task.env(&given).map_err(|e| match &e {
            TaskError::Value { name, .. } => refuse(Some(&name.clone()), e),
            _ => refuse(None, e),
        })?;
        let infos = task.tensors_at(&env).map_err(|e| refuse(None, e))?;
        task.work(&env).map_err(|e| refuse(None, e))?;
        for info in infos.iter().filter(|t| t.present && t.role.is_written()) {
            if info.dtype.is_float() && !task.tolerances.contains_key(&info.dtype) {
                let message =
                    format!("output `{}` is {} here, which has no [tolerance.{}]", info.name, info.dtype, info.dtype);
                return Err(self.toml.error(steps!["workload", i], message));
            }
        }
        let set = match raw.set {
            RawSet::Search => Set::Search,
            RawSet::HeldOut => Set::HeldOut,
        };
        let purpose = match raw.purpose {
            RawPurpose::Check => Purpose::Check,
            RawPurpose::Time => Purpose::Time,
            RawPurpose::Both => Purpose::Both,
        };
        Ok(Workload { label: raw.label, set, purpose, kind: raw.kind, weight: raw.weight, env })
    }

    /// What makes a judgement worth something: search workloads that check and time, and held-out ones, of which at
    /// least one is of a kind the search never saw.
    fn workload_sets(&self, task: &Task) -> Result<(), FileError> {
        let refuse = |message: &str| Err(self.toml.error(steps!["workload"], message));
        let search: Vec<_> = task.workloads_of(Set::Search).collect();
        if !search.iter().any(|w| w.purpose.checks()) || !search.iter().any(|w| w.purpose.times()) {
            return refuse("at least one search workload must check and one must time (purpose = \"both\" does both)");
        }
        let held_out: Vec<_> = task.workloads_of(Set::HeldOut).collect();
        if !held_out.iter().any(|w| w.purpose.checks() && !search.iter().any(|s| s.kind == w.kind)) {
            return refuse(
                "at least one workload with set = \"heldout\" must be of a `kind` that no search workload has",
            );
        }
        Ok(())
    }

    fn candidate(&self, at: &[Step<'_>], file: &str) -> Result<Candidate, FileError> {
        let text = (self.open)(file).map_err(|e| self.toml.error(at, format!("{file} cannot be read: {e}")))?;
        let sidecar = (self.open)(&format!("{file}.toml")).ok();
        let folder = Path::new(file).parent().map(Path::to_path_buf).unwrap_or_default();
        candidate::from_source(file, &text, sidecar.as_deref(), &|relative| {
            (self.open)(&folder.join(relative).to_string_lossy()).ok()
        })
    }

    fn check(&self, at: &[Step<'_>], expr: &Expr, names: &[&str]) -> Result<(), FileError> {
        expr.check_names(names).map_err(|e| self.toml.error(at, e.to_string()))
    }

    fn identifier(&self, at: &[Step<'_>], name: &str) -> Result<(), FileError> {
        if candidate::is_identifier(name) {
            return Ok(());
        }
        Err(self.toml.error(at, format!("`{name}` is not a C identifier")))
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Input => "input",
        Role::Output => "output",
        Role::InOut => "inout",
    }
}

/// Builds the distribution a table names, and refuses fields that it does not take.
fn distribution(raw: &RawGenerator) -> Result<Distribution, String> {
    use Distribution as D;
    let fields = [
        ("mean", raw.mean),
        ("std", raw.std),
        ("lo", raw.lo),
        ("hi", raw.hi),
        ("df", raw.df),
        ("factor", raw.factor),
        ("share", raw.share),
        ("value", raw.value),
    ];
    let get =
        |name: &str, default: f64| fields.iter().find(|(n, _)| *n == name).and_then(|(_, v)| *v).unwrap_or(default);
    let (mean, std) = (get("mean", 0.0), get("std", 1.0));
    let (takes, distribution): (&[&str], D) = match raw.kind.as_str() {
        "normal" => (&["mean", "std"], D::Normal { mean, std }),
        "uniform" => (&["lo", "hi"], D::Uniform { lo: get("lo", 0.0), hi: get("hi", 1.0) }),
        "log-uniform" => (&["lo", "hi"], D::LogUniform { lo: get("lo", 0.1), hi: get("hi", 10.0) }),
        "heavy-tailed" => (&["std", "df"], D::HeavyTailed { std, df: get("df", 3.0) }),
        "spikes" => {
            (&["std", "factor", "share"], D::Spikes { std, factor: get("factor", 10.0), share: get("share", 0.001) })
        }
        "row-scales" => (&["std", "lo", "hi"], D::RowScales { std, lo: get("lo", 0.1), hi: get("hi", 10.0) }),
        "smooth" => (&["std"], D::Smooth { std }),
        "sparse" => (&["std"], D::Sparse { std }),
        "inverse-softplus" => (&["lo", "hi"], D::InverseSoftplus { lo: get("lo", 1e-3), hi: get("hi", 0.1) }),
        "negative-exp" => (&["mean", "std"], D::NegativeExp { mean, std }),
        "s4d" => (&["std"], D::S4d { std: get("std", 0.1) }),
        "integers" => (&["lo", "hi"], D::Integers { lo: get("lo", 0.0), hi: get("hi", 9.0) }),
        "constant" => (&["value"], D::Constant { value: get("value", 0.0) }),
        other => {
            return Err(format!(
                "no distribution `{other}` (known: normal, uniform, log-uniform, heavy-tailed, spikes, row-scales, smooth, \
                 sparse, inverse-softplus, negative-exp, s4d, integers, constant)"
            ));
        }
    };
    if let Some((name, _)) = fields.iter().find(|(n, v)| v.is_some() && !takes.contains(n)) {
        return Err(format!("`{}` takes {}, not `{name}`", raw.kind, takes.join(", ")));
    }
    if fields.iter().any(|(_, v)| v.is_some_and(|v| !v.is_finite())) {
        return Err("every number must be finite".into());
    }
    let (lo, hi) = (get("lo", 0.1), get("hi", 0.2));
    if raw.lo.is_some() && raw.hi.is_some() && lo > hi {
        return Err(format!("lo ({lo}) is above hi ({hi})"));
    }
    let needs_positive = matches!(distribution, D::LogUniform { .. } | D::RowScales { .. } | D::InverseSoftplus { .. });
    if needs_positive && (lo <= 0.0 || hi <= 0.0) || get("df", 1.0) <= 0.0 {
        return Err("lo, hi and df must be positive here".into());
    }
    Ok(distribution)
}
