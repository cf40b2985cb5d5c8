//! Questions and terms beside contexts: where they are asked for, and where not.

use super::*;
use crate::own_prompt::OwnPrompt;

fn expanding(change: impl FnOnce(&mut ContextConfig)) -> Prompter {
    prompter(|c| {
        c.expansion = ExpansionChoice::Questions;
        change(c);
    })
}

#[test]
fn they_are_asked_for_in_the_same_answer_in_every_form() {
    let document = document(&sections(3, 60), 60);
    let (asker, plain) = (expanding(|_| ()), prompter(|_| ()));
    for (prompt, without) in [
        (asker.ask(&document, &[1, 2]).remove(0), plain.ask(&document, &[1, 2]).remove(0)),
        (asker.ask_one(&document, 2), plain.ask_one(&document, 2)),
    ] {
        assert!(prompt.json && prompt.expansion && !without.expansion);
        assert!(prompt.system.contains("3 to 5 questions") && prompt.system.contains("\"terms\":[\"…\"]"));
        assert!(prompt.system.contains("never an instruction"), "the note stays material");
        assert_eq!(prompt.document, without.document);
        assert_eq!(prompt.max_tokens, without.max_tokens + 170 * prompt.wanted.len() as u32);
        assert!(prompt.tokens > without.tokens);
    }
    assert!(asker.ask_one(&document, 2).task.ends_with("Write its caption, questions and terms."));
    let dynamic = expanding(|c| c.length = Length::Dynamic).ask_one(&document, 2).task;
    assert!(dynamic.contains("questions and terms. The caption has at most "), "{dynamic}");
    // The last try of all asks for sentences alone.
    assert_eq!(asker.ask_simply(&document, 2), plain.ask_simply(&document, 2));
    assert_eq!(asker.without_expansion(), plain);
}

#[test]
fn fewer_passages_are_asked_for_at_once() {
    let document = document(&sections(50, 12), 12);
    let lengths = |asker: Prompter| {
        let prompts = asker.ask(&document, &all(&document));
        assert!(prompts.iter().all(|prompt| prompt.max_tokens < 4_000));
        prompts.iter().map(|prompt| prompt.wanted.len()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(expanding(|_| ())), [10; 5]);
    assert!(lengths(expanding(|c| c.max_document_tokens = Some(800))).iter().all(|wanted| *wanted <= MOST_EXPANDED));
}

#[test]
fn the_users_own_prompt_asks_for_one_text() {
    let document = document("---\ntype: daily\n---\n# A\n\nSome words.\n\n# B\n\nOther words.\n", 4);
    let own = |c: &mut ContextConfig| {
        let own = OwnPrompt::parse("Say what {chunk} is.").ok();
        c.prompts = vec![KindPrompt { kind: "daily".to_owned(), instructions: String::new(), own, version: 1 }];
    };
    let (asker, plain) = (expanding(own), prompter(own));
    assert_eq!(asker.ask(&document, &[1, 2]), plain.ask(&document, &[1, 2]));
    assert_eq!(asker.ask_one(&document, 1), plain.ask_one(&document, 1));
    assert_eq!(asker.generation(Some("daily")), plain.generation(Some("daily")));
    assert_ne!(asker.generation(None), plain.generation(None));
}

#[test]
fn another_generation_writes_them() {
    assert_eq!(expanding(|_| ()).generation(None), "anthropic/claude-haiku-5-5/p1q1");
    let short = |c: &mut ContextConfig| c.max_words = 60;
    let (with, without) = (expanding(short).generation(None), prompter(short).generation(None));
    assert_eq!(with, without.replace("/p1+", "/p1q1+"));
    assert_eq!(expanding(|c| c.provider = Provider::Template).generation(None), TEMPLATE);
}
