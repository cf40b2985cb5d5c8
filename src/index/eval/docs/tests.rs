use super::*;
use note::VaultPath;
use note::{NoteRules, parse};

fn note(text: &str) -> Note {
    parse(&VaultPath::parse("Tides.md").unwrap(), text.as_bytes(), &NoteRules::default())
}

#[test]
fn each_arm_has_its_context() {
    let config = ChunkRules::default();
    let page = |weak| {
        let said = Written { text: "Said by a model.".into(), weak };
        Page::new(note("# Tides\n\nHigh [[Moon|water]].\n"), &config, |_| Some(said.clone()))
    };
    let context = |weak, arm| page(weak).docs(1, arm).1[0].context.clone();
    assert_eq!(context(false, Arm::Off), "");
    let template = context(false, Arm::Template);
    assert!(template.starts_with("Tides"), "{template}");
    assert_eq!(context(false, Arm::Model), "Said by a model.");
    assert_eq!(context(true, Arm::Model), format!("{template}\nSaid by a model."));
    let without = Page::new(note("# Tides\n"), &config, |_| None).docs(7, Arm::Model);
    assert_eq!((without.1[0].context.as_str(), without.0.no), ("Tides.", 7));
    let (entry, docs) = page(false).docs(1, Arm::Off);
    assert_eq!((entry.links().to_vec(), docs[0].windows.len()), (vec!["Moon\nwater".to_owned()], 1));
}

#[test]
fn contexts_are_found_by_what_they_were_written_for_and_stay_with_the_chunk() {
    let config = ChunkRules::default();
    let (before, masked) = (note("# Tides\n\nSee [[Moon|the pale lamp]].\n"), note("# Tides\n\nSee [[Moon]].\n"));
    let kept = |note: &Note| {
        let chunk = &crate::chunk::cut(note, config.of(None))[0];
        context_key(&chunk.keys, chunk.hash)
    };
    let (known, said) = (kept(&before), Written { text: "x".into(), weak: false });
    let by_id = written(&before, &config, &|key| (key == known).then(|| said.clone()));
    assert_ne!(kept(&masked), known);
    let page = Page::new(masked, &config, |chunk| by_id.get(&chunk.id).cloned());
    assert_eq!(page.cuts[0].written, Some(said));
}

#[test]
fn what_repeats_a_hidden_text() {
    let hidden = ["the Pale lamp".to_owned()];
    assert!(repeats("Calls the moon “the pale, lamp”.", &hidden));
    assert!(!repeats("Calls the moon the pale lampion.", &hidden));
    assert!(!repeats("", &hidden) && !repeats("the pale lamp", &[]));
}
