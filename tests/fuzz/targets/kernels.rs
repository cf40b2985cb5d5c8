#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| vector::fuzz_kernels(bytes));
