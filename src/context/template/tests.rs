use super::*;
use note::VaultPath;
use note::chunk::{ChunkConfig, Strategy, Tools, chunk};
use note::{NoteRules, parse};

fn contexts(path: &str, text: &str) -> Vec<String> {
    let note = parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default());
    let config = ChunkConfig { strategy: Strategy::Markdown, ..ChunkConfig::default() };
    let template = Template::new(&note);
    // Sections alone decide the cuts here; a piece per byte is as good a measure as any for texts this short.
    let token_starts: Vec<u32> = (0..note.text.len() as u32).step_by(4).collect();
    let tools = Tools { token_starts: &token_starts, embed: &|_| Vec::new() };
    chunk(&note, &config, &tools).iter().map(|chunk| template.context(chunk)).collect()
}

#[test]
fn a_context_says_what_the_note_says_of_itself() {
    let text = "---\naliases: [QS]\ntags: [pods]\ntype: guide\n---\n# Quickstart\n\nHow to get a pod running today.\n\n## Steps\n\nOne two.\n";
    assert_eq!(
        contexts("docs/ref/a.pod-v2.quickstart.md", text),
        [
            "Quickstart, QS. guide. docs › ref › a pod v2 quickstart. pods.",
            "Quickstart, QS. guide. docs › ref › a pod v2 quickstart. pods. How to get a pod running today.",
        ]
    );
}

#[test]
fn a_file_name_is_said_where_it_says_more() {
    let cases = [
        ("plan.md", "# The Plan\n\nWords.\n", "The Plan."),
        ("the_plan-2.md", "# The Plan\n\nWords.\n", "The Plan."),
        ("old plan.md", "# The Plan\n\nWords.\n", "The Plan. old plan."),
        ("2026-11-20.md", "# Friday\n\nWords.\n", "Friday. daily, Friday, 20 November 2026."),
        ("0042.md", "# The answer\n\nWords.\n", "The answer."),
        ("House rules 294c08f089bc189fe112ee89126ab1f5.md", "# House rules\n\nWords.\n", "House rules."),
        (
            "Wiki bf111e3622a72a3b5dc784b5903983ca/Tides 294c08f089bc189fe112ee89126ab1f5.md",
            "Words.",
            "Tides 294c08f089bc189fe112ee89126ab1f5. Wiki.",
        ),
        ("über-uns.md", "# Über uns\n\nWorte.\n", "Über uns."),
    ];
    for (path, text, expected) in cases {
        assert_eq!(contexts(path, text)[0], expected, "{path}");
    }
}

#[test]
fn the_lead_is_the_first_paragraph_that_says_something() {
    for above in [
        "![[Pasted image 20240314101112.png]]",
        "[Previous](a.md) | [Index](b.md) | [Next](c.md)",
        "`BUTTON[new-task]` `INPUT[toggle:done]`",
        "{% include 'a notice to readers' %} {{ toc.of.page }}",
        "<https://example.org/a-long-address>",
        "%% a remark for the writer %%",
    ] {
        let text = format!("# Boats\n\n{above}\n\nThe dinghy is in the shed.\n\n## Oars\n\nTwo.\n");
        assert_eq!(contexts("b.md", &text)[1], "Boats. The dinghy is in the shed.", "{above}");
    }
    let hint = "# Boats\n\n{% hint style=\"info\" %}\nThe spare `key` is with [Anna](a.md).\n{% endhint %}\n\n## Oars\n\nTwo.\n";
    assert_eq!(contexts("b.md", hint)[1], "Boats. The spare `key` is with Anna.");
}

#[test]
fn what_goes_before_a_models_context_has_the_levels_asked_for() {
    let text = "---\ntype: guide\n---\n# Quickstart\n\nHow to get a pod running today.\n\n## Steps\n\nOne two.\n\n### First\n\nThree four.\n";
    let note = parse(&VaultPath::parse("docs/quickstart.md").unwrap(), text.as_bytes(), &NoteRules::default());
    let config = ChunkConfig { strategy: Strategy::Markdown, ..ChunkConfig::default() };
    let starts: Vec<u32> = (0..note.text.len() as u32).step_by(4).collect();
    let chunks = chunk(&note, &config, &Tools { token_starts: &starts, embed: &|_| Vec::new() });
    let (template, last) = (Template::new(&note), chunks.last().unwrap());
    let above = |levels| template.above(last, levels);
    assert_eq!(above(Levels::Chunk), "");
    assert_eq!(above(Levels::SectionChunk), "Steps");
    assert_eq!(above(Levels::DocumentChunk), "Quickstart. guide. docs. How to get a pod running today.");
    assert_eq!(above(Levels::DocumentSectionChunk), template.context(last));
    assert!(template.context(last).starts_with("Quickstart › Steps. "), "{}", template.context(last));
}
