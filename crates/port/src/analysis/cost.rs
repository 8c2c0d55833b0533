//! Static cost of a traced kernel: floating operations, bytes and synchronisations per thread, in terms of the loops
//! whose trip counts are not known. Must not know chips.

use super::trace::{Item, Space, Trip};

/// What one pass through the deepest loops of unknown length costs a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating operations.
    pub flops: f64,
    /// Bytes of global memory.
    pub global: f64,
    /// Bytes of shared memory.
    pub shared: f64,
    /// Barriers of the block.
    pub barriers: f64,
    /// Shuffles, votes and warp barriers.
    pub warp: f64,
    /// Atomic operations.
    pub atomics: f64,
    /// Matrix instructions.
    pub matrix: f64,
}

/// Costs by number of enclosing loops of unknown length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Index: number of enclosing unknown loops.
    pub by_depth: Vec<Cost>,
    /// An access whose element size is not known was counted as 4 bytes.
    pub assumed_size: bool,
    /// A function that is not in the file gets a pointer to global memory: what it does there is not counted.
    pub escapes: bool,
}

impl Profile {
    /// Of a traced kernel.
    pub fn of(items: &[Item]) -> Self {
        let mut profile = Self::default();
        profile.add(items, 0, 1.0);
        profile
    }

    fn at(&mut self, depth: usize) -> &mut Cost {
        if self.by_depth.len() <= depth {
            self.by_depth.resize(depth + 1, Cost::default());
        }
        // The line above made room.
        let last = self.by_depth.len() - 1;
        &mut self.by_depth[depth.min(last)]
    }

    fn add(&mut self, items: &[Item], depth: usize, weight: f64) {
        for item in items {
            match item {
                Item::Loop { trip, body, .. } => match trip {
                    Trip::Known(n) => self.add(body, depth, weight * n),
                    // A handful: five steps over 32 lanes, eight over a block.
                    Trip::Logarithmic => self.add(body, depth, weight * 5.0),
                    Trip::Unknown => self.add(body, depth + 1, weight),
                },
                Item::If { then, otherwise, .. } => {
                    self.add(then, depth, weight);
                    self.add(otherwise, depth, weight);
                }
                Item::Access(a) => {
                    self.assumed_size |= a.bytes.is_none() && a.space == Space::Global;
                    let bytes = a.bytes.unwrap_or(4) as f64 * weight;
                    let c = self.at(depth);
                    if a.atomic {
                        c.atomics += weight;
                    }
                    match a.space {
                        Space::Global => c.global += bytes,
                        Space::Shared => c.shared += bytes,
                        _ => {}
                    }
                }
                Item::Flops(n) => self.at(depth).flops += f64::from(*n) * weight,
                Item::Call { name, global, .. } => {
                    self.escapes |= global;
                    let c = self.at(depth);
                    if name.starts_with("__syncthreads") {
                        c.barriers += weight;
                    } else if name.starts_with("__shfl") || name.starts_with("__syncwarp") || name.contains("ballot") {
                        c.warp += weight;
                    } else if name.contains("mma_sync") {
                        c.matrix += weight;
                    }
                }
                _ => {}
            }
        }
    }

    /// Floating operations per byte of global memory where the kernel spends its time, and whether that ratio rests on
    /// the same loops. `None` when there is neither.
    pub fn intensity(&self) -> Option<Intensity> {
        let deepest = |f: fn(&Cost) -> f64| self.by_depth.iter().rposition(|c| f(c) > 0.0);
        let flops = deepest(|c| c.flops + c.matrix);
        let bytes = deepest(|c| c.global)?;
        let Some(flops) = flops else { return Some(Intensity::Ratio(0.0)) };
        if flops > bytes {
            return Some(Intensity::Grows);
        }
        if flops < bytes {
            return Some(Intensity::Ratio(0.0));
        }
        let c = self.by_depth.get(bytes)?;
        if c.matrix > 0.0 {
            return Some(Intensity::Matrix);
        }
        Some(Intensity::Ratio(c.flops / c.global))
    }

    /// The deepest level that holds anything.
    pub fn dominant(&self) -> Cost {
        self.by_depth.last().copied().unwrap_or_default()
    }
}

/// Floating operations per byte of global memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intensity {
    /// A number.
    Ratio(f64),
    /// It grows with a size that is not known: arithmetic stands in deeper loops than memory.
    Grows,
    /// Matrix instructions in the same loops as memory accesses: how many operations one stands for is not known here.
    Matrix,
}
