use super::*;

#[test]
fn golden_digests() {
    let key = section_key([(1, "Plan"), (2, "Next steps")], 0);
    let golden = [
        ("text", text_hash(b"hello\n").to_string(), TEXT),
        ("structure", structure_hash([(1, "Plan"), (2, "Next steps")]).to_string(), STRUCTURE),
        ("section", key.to_string(), SECTION),
        ("chunk", chunk_id("a/b.md", key, 1).to_string(), CHUNK),
        ("input", input_hash("context\n\nbody").to_string(), INPUT),
        ("context", context_key(&[key], text_hash(b"body")).to_string(), CONTEXT),
    ];
    for (kind, now, golden) in golden {
        assert_eq!(now, golden, "the recipe of {kind} hashes changed: give it a new version tag");
    }
}

const TEXT: &str = "7c9d2a1ffb2300b21f70786356c993f8";
const STRUCTURE: &str = "b4c637ae0991c5f2bc62551e0e319db4";
const SECTION: &str = "c7beff5536496db5b7dd7e910704e53a";
const CHUNK: &str = "3551f475752be6e7186bc143b35308c8";
const INPUT: &str = "cc23a0cb48b34623b37f4f2c2ef063f0";
const CONTEXT: &str = "5c20b5bde88055f7e03d5126269447f1";

#[test]
fn fields_are_length_prefixed() {
    assert_ne!(structure_hash([(1, "ab"), (1, "c")]), structure_hash([(1, "a"), (1, "bc")]));
    assert_ne!(structure_hash([]), structure_hash([(1, "")]));
    assert_ne!(section_key([(1, "a")], 0), section_key([(2, "a")], 0));
}

#[test]
fn hex_round_trips() {
    let hash = text_hash(b"x");
    assert_eq!(hash.to_string().parse::<TextHash>(), Ok(hash));
    for bad in ["", "zz", &"g".repeat(32), &"é".repeat(16)] {
        assert!(bad.parse::<TextHash>().is_err(), "{bad}");
    }
}

#[test]
fn sketch_measures_what_is_left() {
    let text = |from: usize, to: usize| (from..to).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
    let sketch = Sketch::of(&text(0, 1000));
    assert!(sketch.shingles.len() <= Sketch::MOST && sketch.shingles.len() > Sketch::MOST / 4);
    assert!((sketch.left_in(&text(0, 1000)) - 1.0).abs() < f32::EPSILON);
    assert!(sketch.left_in(&text(0, 5000)) > 0.99, "text that was added does not count");
    assert!(sketch.left_in(&text(1000, 2000)) < 0.01);
    assert!((0.2..0.8).contains(&sketch.left_in(&text(500, 1500))));
    assert!((Sketch::of("").left_in("anything") - 1.0).abs() < f32::EPSILON);
}
