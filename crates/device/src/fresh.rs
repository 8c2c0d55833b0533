//! Fresh inputs for every timed call: a few elements of every input change places, which keeps their distribution and
//! whatever the task demands of single elements. Knows tensors' bytes; must not know what a kernel computes.

use ksearch_task::DType;

use crate::statistics::splitmix;
use crate::target::Slots;

/// Pairs that change places in each input per call.
const PAIRS: usize = 6;

/// The changes of one call: `(tensor, element, element)`. Applied twice they cancel.
pub type Swaps = Vec<(String, usize, usize)>;

/// Draws the changes of one call from `state`. Inputs of integers stay as they are: they may be indices.
pub fn draw(slots: &Slots, state: &mut u64) -> Swaps {
    let mut out = Vec::new();
    for (name, slot) in slots.iter().filter(|(_, s)| !s.writable) {
        let width = slot.tensor.dtype.bytes();
        let count = slot.tensor.bytes.len() / width.max(1);
        if !matches!(slot.tensor.dtype, DType::F32 | DType::F16 | DType::BF16) || count < 2 {
            continue;
        }
        for _ in 0..PAIRS {
            let one = (splitmix(state) % count as u64) as usize;
            let other = (splitmix(state) % count as u64) as usize;
            out.push((name.clone(), one, other));
        }
    }
    out
}

/// Applies the changes of one call, the last first where `back`.
pub fn apply(slots: &mut Slots, swaps: &Swaps, back: bool) {
    let mut one = |(name, a, b): &(String, usize, usize)| {
        let Some(slot) = slots.get_mut(name) else { return };
        let width = slot.tensor.dtype.bytes();
        for i in 0..width {
            let (a, b) = (a * width + i, b * width + i);
            if a < slot.tensor.bytes.len() && b < slot.tensor.bytes.len() {
                slot.tensor.bytes.swap(a, b);
            }
        }
    };
    if back { swaps.iter().rev().for_each(&mut one) } else { swaps.iter().for_each(&mut one) }
}

#[cfg(test)]
mod tests {
    use ksearch_task::Tensor;

    use super::*;
    use crate::target::Slot;

    #[test]
    fn changes_are_taken_back_exactly() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let tensor = Tensor::from_values(DType::F16, vec![20], &values);
        let slot = |writable| Slot { tensor: tensor.clone(), writable, written: None };
        let before = Slots::from_iter([("x".to_owned(), slot(false)), ("y".to_owned(), slot(true))]);
        let (mut now, mut state) = (before.clone(), 1);
        let all: Vec<Swaps> = (0..5).map(|_| draw(&now, &mut state)).collect();
        for swaps in &all {
            apply(&mut now, swaps, false);
        }
        assert_ne!(now["x"], before["x"]);
        assert_eq!(now["y"], before["y"], "outputs are none of its business");
        for swaps in all.iter().rev() {
            apply(&mut now, swaps, true);
        }
        assert_eq!(now, before);
    }
}
