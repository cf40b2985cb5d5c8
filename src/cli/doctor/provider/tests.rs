use super::super::super::search::tests::Page;
use super::*;
use context::cost::Usage;
use context::settings::Provider;

#[test]
fn the_note_is_two_passages_and_the_second_needs_the_first() {
    let document = document().unwrap();
    assert_eq!(document.passages.len(), 2);
    let last = document.passages.last().unwrap();
    assert!(document.passage_text(last).contains("She ordered"));
    let good = "Spare parts for the green lantern of the Sandholm harbour: Mira ordered two lenses from the \
        workshop in Veddel for the repair on 14 May 2026.";
    let verdict = judge(good, Ending::Whole, &document, last);
    assert!(matches!(verdict, Verdict::Taken { weak: false, .. }), "{verdict:?}");
    let refusal = judge("I'm sorry, but I can't help with that.", Ending::Whole, &document, last);
    assert!(matches!(refusal, Verdict::Rejected { .. }), "{refusal:?}");
}

fn report() -> Report {
    let context = ContextConfig {
        provider: Provider::OpenAi,
        model: Some("own\u{1b}[2J".into()),
        base_url: Some("https://api.example.com".into()),
        ..ContextConfig::default()
    };
    let model = provider::model(&context).unwrap();
    introduced(&context, &model, Some("api.example.com".into()))
}

fn shown(report: &Report) -> String {
    let page = Page::default();
    print(report, &mut Out::to(page.clone(), 100)).unwrap();
    page.text()
}

#[test]
fn every_failure_says_what_to_do() {
    for kind in [
        FailureKind::Unauthorized,
        FailureKind::UnknownModel,
        FailureKind::SpendLimit,
        FailureKind::TooLong,
        FailureKind::Rejected,
        FailureKind::Unavailable,
        FailureKind::Cancelled,
    ] {
        let failure = Failure { kind, message: "HTTP 4\u{1b}[2J01".into(), maybe_billed: false };
        let text = shown(&Report { failure: Some(failed(failure)), ..report() });
        assert!(text.contains("no answer") && text.contains("to do") && text.contains("HTTP 401"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn an_unknown_price_is_said_to_be_unknown() {
    let document = document().unwrap();
    let completion = Completion {
        text: "I'm sorry, but I can't help with that.".into(),
        finish: Finish::Stop,
        usage: Usage { input: 120, output: 12, ..Usage::default() },
        took: Duration::from_millis(830),
        attempts: 2,
    };
    let verdict = judge(&completion.text, Ending::Whole, &document, document.passages.last().unwrap());
    let mut report = report();
    let model = Model { price: Price::Unknown, ..provider::model(&ContextConfig::default()).unwrap() };
    report.answer = Some(answer(&completion, verdict, &model));
    let text = shown(&report);
    for expected in [
        "cannot be used",
        "not in the table",
        "unknown: calls count in tokens",
        "api.example.com; what is asked leaves this machine",
        "830 ms, 2 attempts",
        "120 tokens read, 12 written",
        "price unknown, 132 tokens",
        "rejected: declined by the model",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains('$'), "{text}");
}
