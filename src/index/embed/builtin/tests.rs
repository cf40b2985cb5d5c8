use proptest::prelude::*;

use super::super::apart::{CONTEXT, EXPANSION};
use super::*;

#[derive(serde::Deserialize)]
struct Golden {
    text: String,
    ids: Vec<u16>,
    embedding: Vec<f32>,
}

fn golden() -> Vec<Golden> {
    serde_json::from_str(include_str!("../static-v1.golden.json")).expect("the golden file is JSON")
}

#[test]
fn golden_ids_and_vectors() {
    assert_eq!(golden().len(), 20);
    for Golden { text, ids, embedding } in golden() {
        assert_eq!(model().tokenize(&text), ids, "{text:?}");
        let ours = model().embed_f32(&text);
        assert_eq!(embedding.len(), DIMENSIONS);
        for (a, b) in ours.iter().zip(&embedding) {
            assert!((a - b).abs() < 1e-5, "{text:?}: {a} is not {b}");
        }
    }
}

#[test]
fn every_processor_gives_the_same_sum() {
    for Golden { ids, .. } in golden() {
        let bits = |sum: [f32; DIMENSIONS]| sum.map(f32::to_bits);
        assert_eq!(bits(model().sum(&ids)), bits(sum(model(), &ids)));
    }
}

#[test]
fn quantised_vectors_keep_direction_and_length() {
    for text in golden().iter().map(|g| &g.text) {
        let (exact, vector) = (model().embed_f32(text), model().embed(text));
        let back = vector.values.iter().map(|v| f32::from(*v) * vector.scale);
        let dot: f32 = back.clone().zip(exact).map(|(a, b)| a * b).sum();
        let norm: f32 = back.map(|x| x * x).sum();
        if model().count(text) == 0 {
            assert!(vector.scale == 0.0 && vector.values.iter().all(|v| *v == 0));
        } else {
            assert!(dot / norm.sqrt() > 0.9999 && (norm - 1.0).abs() < 5e-3, "{text:?}: {dot} {norm}");
            assert!(vector.values.iter().any(|v| v.unsigned_abs() == 127));
        }
    }
}

#[test]
fn questions_beside_a_context_have_a_weight_of_their_own() {
    use crate::embed::input::{InputLimits, inputs, with_expansion};
    let (context, text, asked) = ("The north pier of the harbour.", "Veddel repaired the lantern.", "Who mends lamps?");
    let pieces = |text: &str| model().token_starts(text);
    let plain = |context| inputs(context, text, &pieces).remove(0);
    let expanded = |input| with_expansion(&InputLimits::BUILTIN, input, asked);
    for (context, weight) in [(context, CONTEXT), ("", 0.0)] {
        let mut sum = model().embed_f32(text);
        for (weight, other) in [(weight, context), (EXPANSION, asked)] {
            sum.iter_mut().zip(model().embed_f32(other)).for_each(|(x, y)| *x += weight * y);
        }
        normalise(&mut sum);
        let input = expanded(plain(context));
        assert_eq!(model().embed_input(&input), Vector::quantized(&sum), "{context:?}");
        assert_eq!(input.text, plain(context).text, "they are no text");
        assert_ne!(input.hash, plain(context).hash);
        assert_ne!(input.hash, with_expansion(&InputLimits::BUILTIN, plain(context), "What mends lamps?").hash);
    }
    let of_model = with_expansion(&InputLimits::of_model(512, 0, false), plain(context), asked);
    assert_eq!(of_model, plain(context), "nobody else is shown them, and nothing is embedded again");
    assert_eq!(with_expansion(&InputLimits::BUILTIN, plain(context), ""), plain(context));
}

#[test]
fn the_inputs_of_a_chunk_are_embedded_together_as_they_are_one_by_one() {
    use crate::embed::input::{InputLimits, inputs, with_expansion};
    let pieces = |text: &str| model().token_starts(text);
    let long = "The lantern of the north pier was mended on Tuesday. ".repeat(60);
    for (context, text, asked) in [
        ("The harbour in winter.", long.as_str(), ""),
        ("The harbour in winter.", long.as_str(), "Who mends lamps?"),
        ("The harbour in winter.", "", ""),
        ("", long.as_str(), ""),
        ("", "", ""),
    ] {
        let inputs = inputs(context, text, &pieces).into_iter();
        let inputs: Vec<Input> = inputs.map(|input| with_expansion(&InputLimits::BUILTIN, input, asked)).collect();
        let together = model().embed_inputs(&inputs.iter().collect::<Vec<_>>());
        assert_eq!(together.len(), inputs.len());
        for (input, vector) in inputs.iter().zip(together) {
            assert_eq!(vector, model().embed_input(input), "{context:?} {asked:?}");
        }
    }
}

#[test]
fn likeness_follows_meaning() {
    let dot =
        |a: &str, b: &str| -> f32 { model().embed_f32(a).iter().zip(model().embed_f32(b)).map(|(a, b)| a * b).sum() };
    let query = "how do I cancel my gym membership";
    assert!(dot(query, "end a subscription to the fitness club") > 0.2 + dot(query, "a recipe for lentil soup"));
}

#[test]
fn names_are_of_no_language() {
    let known = |text: &str| model().familiarity(text);
    for (text, least, most) in [
        ("how do I rotate the keys of a server", 0.9, 1.0),
        ("IPv4 to IPv6", 0.5, 1.0),
        ("C++", 1.0, 1.0),
        (".NET br_if src/main.rs RFC 2119", 1.0, 1.0),
        ("как медитировать", 0.0, 0.0),
        ("2023年的计划是什么", 0.0, 0.0),
        ("", 1.0, 1.0),
    ] {
        let share = known(text);
        assert!((least..=most).contains(&share), "{text}: {share}");
    }
}

#[test]
fn bad_files_are_refused() {
    assert!(BuiltinModel::read(b"").is_err());
    assert!(BuiltinModel::read(&FILE[..FILE.len() - 1]).is_err());
    assert!(BuiltinModel::read(&FILE[1..]).is_err());
}

proptest! {
    #[test]
    fn any_text_has_a_vector(text in any::<String>()) {
        let vector = model().embed(&text);
        prop_assert_eq!(vector.values.len(), DIMENSIONS);
        prop_assert!(vector.scale.is_finite() && vector.values.iter().all(|v| *v != i8::MIN));
        prop_assert_eq!(vector.scale == 0.0, model().count(&text) == 0);
    }
}
