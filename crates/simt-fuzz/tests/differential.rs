//! Random kernels on the machine against the scalar reference.

use ksearch_simt_fuzz::generate::kernel;
use ksearch_simt_fuzz::oracle::{differential, survives};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn machine_and_reference_agree(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        if let Err(e) = differential(&bytes) {
            panic!("{}", e.0);
        }
    }

    #[test]
    fn damaged_text_is_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        cuts in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6),
    ) {
        let mut text = kernel(&bytes).into_bytes();
        for (at, with) in cuts {
            let at = at as usize % text.len();
            match with % 3 {
                0 => { text.remove(at); }
                1 => text[at] = b' ' + with % 94,
                _ => { let end = (at + 12).min(text.len()); text.drain(at..end); }
            }
        }
        survives(&String::from_utf8_lossy(&text));
    }
}
