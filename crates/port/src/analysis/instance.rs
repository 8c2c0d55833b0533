//! Instances of a kernel: template arguments, block sizes and shared memory as far as the file's launches and
//! instantiations give them. Must not guess.

use super::{LaunchFact, SharedFact};
use crate::cuda::constant::{self, Names};
use crate::cuda::host::{Host, locals};
use crate::cuda::syntax::each;
use crate::cuda::unit::{Bound, Function, Unit, extents, innermost};

/// Template parameters with their texts.
pub type Values = Vec<(String, String)>;

/// Known instances, in the order of launches, then of other mentions; one with the defaults alone if there is none.
pub fn of(unit: &Unit<'_>, host: &Host, k: &Function<'_>) -> Vec<Values> {
    let mut all: Vec<Values> = Vec::new();
    let mut add = |values: Values| {
        if !all.contains(&values) {
            all.push(values);
        }
    };
    if k.template.is_empty() {
        return vec![Vec::new()];
    }
    for launch in host.launches_of(&k.name) {
        let names = locals(unit, launch.function.and_then(|i| unit.functions.get(i)));
        add(bind(k, &launch.template_args, &names));
    }
    for args in unit.instances.get(&k.name).into_iter().flatten() {
        // Arguments that are themselves parameters of something else say nothing here.
        let known = |a: &String| constant::eval(a, unit).is_some() || constant::type_size(a).is_some();
        if args.iter().all(known) {
            add(bind(k, args, unit));
        }
    }
    if all.is_empty() {
        all.push(bind(k, &[], unit));
    }
    all
}

fn bind(k: &Function<'_>, args: &[String], names: &dyn Names) -> Values {
    k.template
        .iter()
        .enumerate()
        .filter_map(|(i, p)| {
            let text = args.get(i).or(p.default.as_ref())?;
            let value = if p.is_type { text.clone() } else { constant::eval(text, names)?.to_string() };
            Some((p.name.clone(), value))
        })
        .collect()
}

/// Names inside a function under an instance.
pub fn names<'a>(unit: &'a Unit<'_>, f: &Function<'_>, values: &Values) -> Bound<'a> {
    let mut bound = locals(unit, Some(f));
    bound.values.extend(values.iter().cloned());
    bound
}

/// Threads per block that the launch bounds allow.
pub fn bound_threads(unit: &Unit<'_>, k: &Function<'_>, values: &Values) -> Option<u64> {
    let text = k.launch_bounds.first()?;
    constant::eval(text, &names(unit, k, values)).and_then(|n| u64::try_from(n).ok())
}

/// `blockDim.x` and its kin, where every launch of the file agrees on a number.
pub fn block(unit: &Unit<'_>, host: &Host, k: &Function<'_>) -> Values {
    let mut known: Option<[Option<i64>; 3]> = None;
    for l in host.launches_of(&k.name) {
        let names = locals(unit, l.function.and_then(|i| unit.functions.get(i)));
        let extent = |i: usize| l.block.as_ref().and_then(|b| constant::eval(b.get(i)?, &names));
        let here = [extent(0), extent(1), extent(2)];
        known = Some(match known {
            None => here,
            Some(old) => std::array::from_fn(|i| {
                let (a, b) = (old.get(i).copied().flatten(), here.get(i).copied().flatten());
                a.filter(|_| a == b)
            }),
        });
    }
    let extents = known.unwrap_or_default();
    ["x", "y", "z"]
        .iter()
        .zip(extents)
        .filter_map(|(axis, n)| Some((format!("blockDim.{axis}"), n?.to_string())))
        .collect()
}

/// Launches of the kernel in this file.
pub fn launches(unit: &Unit<'_>, host: &Host, k: &Function<'_>) -> Vec<LaunchFact> {
    host.launches_of(&k.name)
        .map(|l| {
            let names = locals(unit, l.function.and_then(|i| unit.functions.get(i)));
            let number = |t: &String| constant::eval(t, &names).and_then(|n| u64::try_from(n).ok());
            let threads = l.block.as_ref().and_then(|b| b.iter().map(number).product::<Option<u64>>());
            LaunchFact {
                template_args: l.template_args.clone(),
                grid: l.grid.clone(),
                block: l.block.clone(),
                threads,
                shared_bytes: l.shared.as_ref().and_then(number),
                // A local's value says more than its name.
                shared: l.shared.as_ref().map(|t| names.value(t).unwrap_or_else(|| t.clone())),
                stream: l.stream.clone(),
                pos: unit.source.pos(l.at),
            }
        })
        .collect()
}

/// Shared arrays of the kernel and what it reaches. Sizes are those of the instance that needs most.
pub fn shared(
    unit: &Unit<'_>,
    reachable: &[&Function<'_>],
    kernel: &Function<'_>,
    instances: &[Values],
) -> Vec<SharedFact> {
    let mut found = Vec::new();
    for f in reachable {
        let Some(body) = f.body else { continue };
        let is_kernel = std::ptr::eq(*f, kernel);
        let sets: Vec<Values> = if is_kernel { instances.to_vec() } else { callee_values(unit, f) };
        each(body, &mut |n| {
            if n.kind() != "declaration" {
                return true;
            }
            let words: Vec<&str> =
                unit.source.tokens_in(n.byte_range()).iter().map(|t| t.text(&unit.source.text)).collect();
            if !words.contains(&"__shared__") {
                return false;
            }
            let dynamic = words.contains(&"extern");
            let ty = n.child_by_field_name("type").map(|t| unit.source.flat(t)).unwrap_or_default();
            let mut cursor = n.walk();
            for d in n.children_by_field_name("declarator", &mut cursor) {
                let extents = extents(unit.source, d);
                let pointer = d.kind() == "pointer_declarator";
                let size = |values: &Values| -> Option<u64> {
                    let names = names(unit, f, values);
                    let element = if pointer { 8 } else { type_size(&ty, &names)? };
                    let mut bytes = element;
                    for e in &extents {
                        bytes = bytes.checked_mul(constant::eval(e, &names)?)?;
                    }
                    u64::try_from(bytes).ok()
                };
                let sizes: Option<Vec<u64>> = sets.iter().map(size).collect();
                found.push(SharedFact {
                    name: unit.source.text(innermost(d)).to_owned(),
                    ty: ty.clone(),
                    bytes: if dynamic { None } else { sizes.and_then(|s| s.into_iter().max()) },
                    extents,
                    dynamic,
                    pos: unit.source.pos(n.start_byte()),
                });
            }
            false
        });
    }
    found
}

/// Instances of a device function, as its calls name them.
fn callee_values(unit: &Unit<'_>, f: &Function<'_>) -> Vec<Values> {
    if f.template.is_empty() {
        return vec![Vec::new()];
    }
    let mut sets = Vec::new();
    for args in unit.instances.get(&f.name).into_iter().flatten() {
        // `block_sum<THREADS>` inside a template: the caller's own arguments decide.
        let callers = unit
            .functions
            .iter()
            .filter(|g| g.name != f.name)
            .filter(|g| g.template.iter().any(|p| args.contains(&p.name)));
        let mut bound = false;
        for caller in callers {
            for outer in unit.instances.get(&caller.name).into_iter().flatten() {
                let outer = bind(caller, outer, unit);
                let replaced: Vec<String> = args
                    .iter()
                    .map(|a| outer.iter().find(|(n, _)| n == a).map_or_else(|| a.clone(), |(_, v)| v.clone()))
                    .collect();
                sets.push(bind(f, &replaced, unit));
                bound = true;
            }
        }
        if !bound {
            sets.push(bind(f, args, unit));
        }
    }
    if sets.is_empty() { vec![bind(f, &[], unit)] } else { sets }
}

/// Size of a type as far as names are known.
pub fn type_size(ty: &str, names: &dyn Names) -> Option<i64> {
    let mut ty = ty.to_owned();
    for _ in 0..8 {
        if let Some(size) = constant::type_size(&ty).or_else(|| names.size_of(&ty)) {
            return Some(size);
        }
        ty = names.value(&ty)?;
    }
    None
}
