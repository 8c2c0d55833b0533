//! Random kernels: the machine in all modes and on all instruction sets against the scalar reference.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(mismatch) = ksearch_simt_fuzz::oracle::differential(bytes) {
        panic!("{}", mismatch.0);
    }
});
