#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| index::fuzz_kernels(bytes));
