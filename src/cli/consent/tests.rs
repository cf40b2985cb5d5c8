use super::*;

fn offer(chunks: u64, micro_dollars: Option<u64>) -> Offer {
    let estimate = Estimate {
        chunks,
        notes: chunks.div_ceil(4),
        calls: chunks.div_ceil(4),
        tokens_in: chunks * 500,
        tokens_out: chunks * 80,
        micro_dollars,
        price_as_of: micro_dollars.map(|_| "2026-11-12".to_owned()),
        ..Estimate::default()
    };
    Offer {
        vault: "notes".to_owned(),
        provider: "anthropic".to_owned(),
        model: "claude-haiku-5-5".to_owned(),
        leaves_to: Some("api.anthropic.com".to_owned()),
        estimate,
        days: Some(3),
        ..Offer::default()
    }
}

#[test]
fn an_offer_says_work_money_days_and_where_text_goes() {
    let said = described(&offer(40, Some(1_230_000)), false);
    for part in [
        "claude-haiku-5-5 writes contexts for 40 chunks of 10 notes in 10 calls",
        "about $1.23 (prices of 2026-11-12)",
        "3 days within the day's budget",
        "Leaves this machine: text of notes, to api.anthropic.com.",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let waits = waiting(&offer(40, Some(1_230_000)));
    assert!(waits.contains("`situated contexts start` (40 chunks, about $1.23") && waits.contains("3 days"), "{waits}");
}

#[test]
fn an_unknown_price_is_said_and_never_shown_as_free() {
    let said = described(&offer(40, None), false);
    assert!(said.contains("price unknown: 23,200 tokens") && !said.contains("free"), "{said}");
}

#[test]
fn contexts_of_another_model_are_kept_unless_they_are_to_be_replaced() {
    let mut offer = offer(0, Some(0));
    (offer.kept, offer.replacing) = (12, Some(super::tests::offer(12, Some(20_000)).estimate));
    let kept = described(&offer, false);
    assert!(
        kept.contains("12 contexts, older than the model, the prompt or the last rebuild, are kept; `--replace`")
            && kept.contains("$0.02"),
        "{kept}"
    );
    let replaced = described(&offer, true);
    assert!(
        replaced
            .contains("12 contexts, older than the model, the prompt or the last rebuild, are written anew: 12 chunks"),
        "{replaced}"
    );
    assert!(replaced.contains("nothing waits for it.\n") && replaced.contains("minute; 3 days"), "{replaced}");
}

#[test]
fn a_budget_of_nothing_is_no_number_of_days() {
    assert_eq!(within(u64::MAX), "the day's budget is 0, so nothing is asked for");
    assert_eq!(within(1), "within a day's budget");
}

#[test]
fn an_embedder_that_never_had_a_yes_is_not_said_to_have_made_vectors() {
    let offer = Offer { what: OfferedWork::Vectors, ..offer(0, None) };
    let said = stopped(&offer);
    assert!(said.contains("is shown no text of `notes` from now on; vectors that it has made stay"), "{said}");
}

#[test]
fn what_two_generations_stop_is_said_once() {
    let beside = Offer { model: "other".to_owned(), ..offer(4, None) };
    assert_eq!(all_stopped(&[offer(4, None), beside]).len(), 1);
}

#[test]
fn a_key_that_is_missing_is_spoken_of_before_the_yes() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::new(dir.path(), Vec::new());
    config.engine.context.provider = context::settings::Provider::OpenAi;
    config.engine.context.key.file = Some(dir.path().join("key"));
    let said = keyless(&offer(1, None), &config).unwrap();
    assert!(said.contains("There is no key in the file") && said.contains("`context.key_file`"), "{said}");
    let here = Offer { leaves_to: None, ..offer(1, None) };
    assert_eq!(keyless(&here, &config), None, "a server of this machine may need none");
    std::fs::write(dir.path().join("key"), "k").unwrap();
    assert_eq!(keyless(&offer(1, None), &config), None);
}
