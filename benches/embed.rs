//! The built-in embedder beside the floor: reading the same bytes. `cargo bench --bench embed`

mod common;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use index::embed::builtin::model;
use index::embed::input::{embeddable, inputs};

/// Windows of generated notes, about the length of a chunk each.
fn windows() -> Vec<String> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    common::vault::generate(dir.path(), 200, 1).expect("a vault");
    let notes = common::notes(dir.path()).expect("its notes");
    let texts = notes.iter().map(|path| std::fs::read_to_string(path).expect("a note"));
    texts
        .flat_map(|text| {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            lines.chunks(12).map(|lines| lines.concat()).collect::<Vec<_>>()
        })
        .collect()
}

fn embed(c: &mut Criterion) {
    let model = model();
    let texts = windows();
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut group = c.benchmark_group("embed");
    group.throughput(Throughput::Bytes(bytes as u64));
    let mut bench = |name: &str, work: &dyn Fn(&str) -> usize| {
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| texts.iter().map(|t| black_box(work(t))).sum::<usize>());
        });
    };
    bench("floor: read", &|t| t.bytes().fold(0_u8, |a, b| a ^ b).into());
    bench("floor: hash", &|t| blake3::hash(t.as_bytes()).as_bytes()[0].into());
    bench("clean", &|t| embeddable(t).len());
    bench("count", &|t| model.count(t));
    bench("tokenize", &|t| model.tokenize(t).len());
    bench("token_starts", &|t| model.token_starts(t).len());
    bench("embed", &|t| model.embed(t).values.len());
    bench("inputs + embed", &|t| {
        let inputs = inputs("A note about nothing", t, &|t| model.token_starts(t));
        inputs.iter().map(|i| model.embed(&i.text).values.len()).sum()
    });
    group.finish();
}

criterion_group!(benches, embed);
criterion_main!(benches);
