//! The links between notes: what they say about a vault, and what they do for a search.

use std::time::{Duration, SystemTime};

use jiff::{Span, Zoned};
use protocol::graph::{GraphAnswer, GraphRequest, Measure};
use protocol::search::{BoostWeights, SearchFilter, SearchRequest};
use serde_json::{Value, json};

use crate::requests::{hit_in, query};
use crate::support::{Daemon, Place, eventually};

/// A daily note of so many days ago: its path, whatever the day of the test.
fn daily(ago: i32) -> String {
    let day = Zoned::now().date().checked_sub(Span::new().days(ago)).unwrap();
    format!("Daily/{day}.md")
}

/// A vault as people have it: a project's home page, years of daily notes that mention it, and much else.
fn journal() -> Place {
    let place = Place::with(&[
        (
            "Projects/Lr Agent.md",
            "# Lr Agent\n\nAn agent that chooses learning rates while a model trains.\n\nOwner: [[Mira]]. See [[Evaluation methodology]].\n",
        ),
        (
            "Projects/Loft.md",
            "# Loft\n\nThe status of the insulation: two of four walls are done, the rest waits for wood.\n",
        ),
        ("People/Mira.md", "# Mira\n\nLooks after training runs and the cluster.\n"),
        (
            "Research/Evaluation methodology.md",
            "# Evaluation methodology\n\nEvery run is repeated with five seeds, and compared by a paired test.\n",
        ),
        (
            "Research/Run 12.md",
            "# Run 12\n\nFollowing [[Evaluation methodology|our protocol]], the schedule was compared with the old one on all five seeds. It is better by two points.\n",
        ),
        (
            "Research/Run 11.md",
            "# Run 11\n\nThe schedule was compared with the old one on three machines. It is slower by two points.\n",
        ),
        ("Research/Baselines.md", "# Baselines\n\nA constant rate, a cosine and a warm restart.\n"),
        ("Kitchen/Bread.md", "# Bread\n\nThe methodology of a good crust: a hot stone and steam.\n"),
        ("Kitchen/Jam.md", "# Jam\n\nBoil the fruit with sugar until it sets.\n"),
        ("Home/Insurance.md", "# Insurance\n\nThe evaluation of the damage takes three weeks.\n"),
    ]);
    for (n, ago) in [1, 120, 151, 182, 213, 244, 275, 306, 337, 368].into_iter().enumerate() {
        let done = ["scheduler", "logger", "warm-up", "profiler", "restarts"][n % 5];
        place.write(
            &daily(ago),
            format!("Worked on [[Lr Agent]]: the {done} is merged, the runs wait for the cluster.\n\nThen swimming.\n"),
        );
    }
    for ago in [3, 9] {
        place.write(
            &daily(ago),
            "Talked about [[Evaluation methodology]] over lunch: five seeds are enough for the paper.\n",
        );
    }
    place
}

/// Waits until the graph of what is saved is there.
fn graph(daemon: &mut Daemon, request: &GraphRequest) -> GraphAnswer {
    let mut answer = GraphAnswer::default();
    eventually("the graph is current", || {
        answer = daemon.ask(request);
        answer.current
    });
    answer
}

fn wait_graph(daemon: &mut Daemon) {
    graph(daemon, &GraphRequest::default());
}

/// The first notes of an answer.
fn first(daemon: &mut Daemon, text: &str, n: usize) -> Vec<String> {
    let (limit, per_note) = (Some(n), Some(1));
    let found = daemon.ask(&SearchRequest { limit, per_note, explain: true, ..query(text) });
    found.hits.into_iter().map(|hit| hit.path).collect()
}

const NO_BOOSTS: &str =
    "[search]\ngraph_weight = 0.0\nlink_weight = 0.0\nrecency_weight = 0.0\ndate_weight = 0.0\ntype_weights = {}\n";

/// A daemon without any boost, over the same vault.
fn unboosted(place: &Place) -> Daemon {
    place.configure(NO_BOOSTS);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    wait_graph(&mut daemon);
    daemon
}

#[test]
fn the_status_of_a_project_is_in_the_newest_daily_note_beside_its_home_page() {
    let place = journal();
    let query = "What is the status of Lr Agent?";
    let wanted = ["Projects/Lr Agent.md".to_owned(), daily(1)];
    let mut daemon = place.start();
    wait_graph(&mut daemon);
    let found = first(&mut daemon, query, 3);
    assert!(wanted.iter().all(|path| found.contains(path)), "{found:?}");
    assert_eq!(daemon.stop(), Some(0));
    let found = first(&mut unboosted(&place), query, 3);
    assert!(!found.contains(&wanted[1]), "the boosts are not what brings it: {found:?}");
}

/// The scene of the specification S1: a home page that names the project often and stands still, and one line about it in a
/// daily note of last week, which names no page of that name, for there is none.
#[test]
fn the_line_of_a_daily_note_comes_above_the_home_page_when_its_status_is_asked() {
    let home = "# Lr Home\n\nLr is the program of learning rates: what Lr is, who works on Lr, and where Lr goes. The Lr team meets \
        monthly.\n\n## 2025\n\n### Post max\n\n**Tech and Relevance**\n\n- Feedback tweaking based on usage\n- Embedding optimization\n\n\
        ### Surface expansion\n\n- Lr Agent in the side panel, see [[Query Understanding]]\n";
    let line = "## Lr monthly leadership #meetings\n\n- QU roadshow for Lr Agent planned for November, see [[Lr Home]]\n- Lr Agent kick off mid-november\n";
    let place = Place::with(&[
        ("Programs/Lr Home.md", home),
        (
            "Programs/Intent AI Home.md",
            "# Intent AI Home\n\nIntent, and what it is made of: [[Query Understanding]].\n",
        ),
        (
            "Concepts/Query Understanding.md",
            "# Query Understanding\n\nHow a query is understood, with [[Evaluation]].\n",
        ),
        ("Concepts/Evaluation.md", "# Evaluation\n\nHow the status of a model is told from its answers.\n"),
    ]);
    for ago in 30..60 {
        place.write(&daily(ago), "Lunch with [[Mira]]. Read about [[Query Understanding]].\n");
    }
    place.write(&daily(8), line);
    let days = Duration::from_hours(60 * 24);
    for page in ["Programs/Lr Home.md", "Concepts/Evaluation.md", "Concepts/Query Understanding.md"] {
        let file = std::fs::File::options().write(true).open(place.vault.join(page)).unwrap();
        file.set_modified(SystemTime::now() - days).unwrap();
    }
    let mut daemon = place.start();
    wait_graph(&mut daemon);
    let question = "What's the status of Lr Agent?";
    let found = first(&mut daemon, question, 3);
    assert_eq!(found[..2], [daily(8), "Programs/Lr Home.md".to_owned()], "{found:?}");
    // A request may weigh otherwise, which leaves the others as they were.
    let weights = BoostWeights { date: Some(0.0), recency: Some(0.0), ..BoostWeights::default() };
    let without = SearchRequest { boosts: Some(weights), per_note: Some(1), ..query(question) };
    let answer = daemon.ask(&without);
    assert_eq!((answer.hits[0].path.as_str(), answer.time), ("Programs/Lr Home.md", None));
    assert_eq!(first(&mut daemon, question, 1), [daily(8)]);
    let too_much = BoostWeights { links: Some(1.5), ..BoostWeights::default() };
    let refused = daemon.refused(&SearchRequest { boosts: Some(too_much), ..query(question) });
    assert!(refused.message.contains("`boosts.links` must be 0 to 1"), "{refused:?}");
}

#[test]
fn words_for_a_time_are_told_and_can_be_left_alone() {
    let place = journal();
    place.write(&daily(5), "Fed the cat and mended the fence.\n");
    place.write(&daily(45), "Fed the cat and mended the fence again.\n");
    let mut daemon = place.start();
    let month = Zoned::now().date().checked_sub(Span::new().days(45)).unwrap();
    let question = format!("mended the fence in {}", month.strftime("%B %Y"));
    let answer = daemon.ask(&query(&question));
    assert_eq!(answer.hits[0].path, daily(45), "{question}");
    assert_eq!(answer.time.unwrap().read_as, month.strftime("%B %Y").to_string());
    let shown = place.run(&["search", &question]);
    let said = String::from_utf8(shown.stderr).unwrap();
    assert!(said.contains(&format!("read as: {}", month.strftime("%B %Y"))), "{said}");
    let shown = place.run(&["search", &question, "--no-dates", "--boost", "recency=1", "--explain"]);
    let (out, said) = (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    // 0.5 to the power of 5 days by a half-life of 30.
    assert!(out.contains("new +0.891") && !out.contains("of that time"), "{out}");
    assert!(!said.contains("read as"), "{said}");
    for wrong in ["recency", "recency=2", "newness=1", "type.=1"] {
        let refused = place.run(&["search", "cat", "--boost", wrong]);
        assert_eq!(refused.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_topic_brings_its_page_the_daily_notes_and_the_note_that_uses_it() {
    let place = journal();
    let query = "evaluation methodology";
    let mut wanted =
        vec!["Research/Evaluation methodology.md".to_owned(), "Research/Run 12.md".to_owned(), daily(3), daily(9)];
    wanted.sort();
    let mut daemon = place.start();
    wait_graph(&mut daemon);
    let mut found = first(&mut daemon, query, 4);
    found.sort();
    assert_eq!(found, wanted);
    assert_eq!(daemon.stop(), Some(0));
    // The words of its link bring the note that uses it; what boosts must not do is bring something else.
    let mut found = first(&mut unboosted(&place), query, 4);
    found.sort();
    assert_eq!(found, wanted);
}

#[test]
fn boosts_are_explained() {
    let place = journal();
    let mut daemon = place.start();
    wait_graph(&mut daemon);
    let request = SearchRequest { explain: true, per_note: Some(1), ..query("status of Lr Agent") };
    let hits = daemon.ask(&request).hits;
    let note = hit_in(&hits, &daily(1));
    let lanes = note.lanes.as_ref().unwrap();
    let boosts = lanes.boosts;
    assert!(boosts.links > 0.0 && boosts.recency > 0.0 && boosts.kind > 0.0, "{note:?}");
    assert!(note.score > lanes.fused, "{note:?}");
    let elsewhere = hit_in(&hits, "Projects/Loft.md").lanes.as_ref().unwrap().boosts;
    assert_eq!((elsewhere.links, elsewhere.kind), (0.0, 0.0));
    let shown = place.run(&["search", "status of Lr Agent", "--explain", "-n", "3"]);
    let text = String::from_utf8(shown.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("linked +") && text.contains("new +"), "{text}");
}

#[test]
fn links_of_every_kind_make_the_graph() {
    let place = Place::with(&[
        ("Hub.md", "---\naliases: [Centre]\n---\n# The hub\n\nSee [[#below]] and [[Hub]].\n"),
        ("a/Title.md", "[[the hub]]\n"),
        ("a/Alias.md", "[[centre]]\n"),
        ("a/Path.md", "[[Hub.md]] twice: [[Hub]]\n"),
        ("a/Heading.md", "[[Hub#Below|see]]\n"),
        ("a/Block.md", "[[Hub#^id]]\n"),
        ("a/Embed.md", "![[Hub]] and ![](picture.png)\n"),
        ("a/Markdown.md", "[there](../Hub.md)\n"),
        ("a/Property.md", "---\nup: \"[[Hub]]\"\n---\nText.\n"),
        ("a/Missing.md", "[[Not yet]], [[not yet#x]], [[Nor this]]\n"),
        ("a/Also missing.md", "[[Not Yet]] `[[Hub]]`\n"),
        ("Alone.md", "Nothing \u{1b}[31mhere.\n"),
    ]);
    let mut daemon = place.start();
    let by_links = |limit: usize| GraphRequest { by: Measure::In, limit: Some(limit), ..GraphRequest::default() };
    let answer = graph(&mut daemon, &GraphRequest { edges: true, ..by_links(100) });
    assert_eq!((answer.notes[0].path.as_str(), answer.notes[0].backlinks), ("Hub.md", 8), "{answer:?}");
    assert_eq!((answer.note_count, answer.link_count), (12, 8));
    assert_eq!(answer.edges.unwrap().len(), 8);
    assert_eq!(answer.orphans, ["Alone.md", "a/Also missing.md", "a/Missing.md"]);
    let missing: Vec<(String, u64)> =
        answer.unresolved.iter().map(|missing| (missing.target.to_lowercase(), missing.count)).collect();
    assert_eq!(missing, [("not yet".to_owned(), 2), ("nor this".to_owned(), 1)]);

    // A note that is written for a missing target takes its links, whoever wrote them.
    place.write("a/Not yet.md", "Now it is.\n");
    eventually("the links are resolved", || {
        let notes = daemon.ask(&by_links(2)).notes;
        notes.get(1).is_some_and(|second| second.path == "a/Not yet.md" && second.backlinks == 2)
    });
    let error = daemon.refused(&by_links(1_000_000));
    assert!(error.message.contains("10000"), "{error:?}");
}

#[test]
fn the_command_shows_the_graph() {
    let place = Place::with(&[
        ("Hub \"x\".md", "# Hub \"x\"\n\n[[One]] [[Two]]\n"),
        ("One.md", "[[Two]] [[Nowhere]]\n"),
        ("Two.md", "Text.\n"),
        ("Alone.md", "Text.\n"),
    ]);
    let mut daemon = place.start();
    wait_graph(&mut daemon);
    let text = |arguments: &[&str], code: i32| {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = text(&["graph"], 0);
    assert!(shown.starts_with("4 notes, 3 links between them\n") && shown.contains("1: Nowhere (1)"), "{shown}");
    assert!(text(&["graph", "--by", "in", "-n", "1"], 0).contains("2          Two  Two.md"));
    assert_eq!(text(&["graph", "--orphans"], 0), "Alone.md\n");
    assert_eq!(text(&["graph", "--unresolved"], 0), "Nowhere: 1 note\n    One.md\n");
    let dot = text(&["graph", "--dot"], 0);
    assert!(dot.starts_with("digraph notes {\n") && dot.contains(r#"label="Hub \"x\"""#), "{dot}");
    assert_eq!(dot.matches(" -> ").count(), 3, "{dot}");
    let value: Value = serde_json::from_str(&text(&["graph", "--json"], 0)).unwrap();
    assert_eq!((&value["schema"], &value["unresolved_count"]), (&json!(1), &json!(1)));
    text(&["graph", "no such vault"], 1);
}

#[test]
fn properties_narrow_a_search() {
    let place = Place::with(&[
        ("a.md", "---\nstatus: Draft\npriority: 3\ndue: 2031-05-01\nowner: [mira, jo]\n---\nOtters.\n"),
        ("b.md", "---\nstatus: done\npriority: 11\ndue: 2031-06-15\nowner: jo\n---\nOtters. [[a]]\n"),
        ("c.md", "---\nstatus:\n---\nOtters. [[b]]\n"),
        ("d.md", "Otters. [[d]]\n"),
    ]);
    let mut daemon = place.start();
    let mut found = |request: &SearchRequest| {
        let mut paths: Vec<String> = daemon.ask(request).hits.into_iter().map(|hit| hit.path).collect();
        paths.sort();
        paths.concat().replace(".md", "")
    };
    for (condition, expected) in [
        ("prop.status:draft", "a"),
        ("-prop.status:draft", "bcd"),
        ("prop.priority:>3", "b"),
        ("prop.due:2031-05", "a"),
        ("prop.due:>=2031-06", "b"),
        ("[owner:jo]", "ab"),
        ("[owner]", "ab"),
        ("[status:null]", "c"),
        ("[status:draft OR done]", "ab"),
        ("linked-from:b", "a"),
        ("-linked-from:b", "bcd"),
        ("link:b", "c"),
        // A link of a note to itself is none.
        ("linked-from:d", ""),
        ("link:d", ""),
    ] {
        assert_eq!(found(&query(&format!("otters {condition}"))), expected, "{condition}");
        assert_eq!(found(&query(condition)), expected, "{condition} alone");
    }
    let with = |text: &str, properties: &Value| {
        let properties = properties.as_object().unwrap().clone().into_iter().collect();
        SearchRequest { filter: Some(SearchFilter { properties, ..SearchFilter::default() }), ..query(text) }
    };
    for (properties, expected) in [
        (json!({"Status": "DRAFT"}), "a"),
        (json!({"priority": 11}), "b"),
        (json!({"status": ["done", "draft"], "priority": "<=3"}), "a"),
        (json!({"status": null}), "c"),
        (json!({}), "abcd"),
    ] {
        assert_eq!(found(&with("otters", &properties)), expected, "{properties}");
    }
    let error = daemon.refused(&with("x", &json!({"a": {"b": 1}})));
    assert!(error.message.contains("filter.properties.a"), "{error:?}");
}

/// The links of a vault, as pairs of paths.
fn edges(daemon: &mut Daemon) -> Vec<(String, String)> {
    let answer = graph(daemon, &GraphRequest { edges: true, limit: Some(1000), ..GraphRequest::default() });
    let path = |at: &u32| answer.notes[*at as usize].path.clone();
    let mut edges: Vec<_> = answer.edges.iter().flatten().map(|(from, to)| (path(from), path(to))).collect();
    edges.sort();
    edges
}

#[test]
fn links_are_read_as_the_programs_read_them_that_write_them() {
    let uuid = "64f0a1b2-1111-4222-8333-444455556666";
    let place = Place::new();
    let root = place.vault.to_str().unwrap();
    let absolute = format!("[[file:{root}/org/a.org::*Aims][A]]\n");
    let url = format!("[A](file://{root}/org/a.org)\n");
    let block = format!("- [the block]((({uuid})))\n");
    let plan = format!("- a\n  id:: {uuid}\n");
    for (path, text) in [
        // Dendron
        ("v1/root.md", "# Root\n"),
        ("v2/root.md", "# Root\n"),
        ("v1/x.md", "[[dendron://v2/root]]\n"),
        ("v2/x.md", "[[The root|dendron://v1/root#h]]\n"),
        // Logseq
        ("pages/Plan.md", plan.as_str()),
        ("pages/A.md", "- [the plan]([[Plan]])\n"),
        ("pages/B.md", block.as_str()),
        ("pages/C.md", "- [[2026-03-05]]\n"),
        ("journals/2026_03_05.md", "- day\n"),
        // Org
        ("org/a.org", "* Aims\n<<goal>> [[goal]] [[Tasks]]\n* Tasks\n"),
        ("other/Tasks.org", "x\n"),
        ("org/absolute.org", absolute.as_str()),
        ("org/plain.org", "see file:a.org.\n"),
        ("org/verbatim.org", "=[[file:a.org]]= ~[[file:a.org]]~\n: [[file:a.org]]\n"),
        ("org/url.md", url.as_str()),
        // Zettlr, Denote
        ("z/202403151230 Zettel.md", "x\n"),
        ("z/20240315T123045--title__tag.org", "x\n"),
        ("z/by id.md", "[[202403151230]] [d](denote:20240315T123045)\n"),
        // Greek
        ("g/Σίσυφος.md", "x\n"),
        ("g/x2.md", "[[ΣΊΣΥΦΟΣ]] ![](talk.opus)\n"),
    ] {
        place.write(path, text);
    }
    let mut daemon = place.start();
    let expected = [
        ("g/x2.md", "g/Σίσυφος.md"),
        ("org/absolute.org", "org/a.org"),
        ("org/plain.org", "org/a.org"),
        ("org/url.md", "org/a.org"),
        ("pages/A.md", "pages/Plan.md"),
        ("pages/B.md", "pages/Plan.md"),
        ("pages/C.md", "journals/2026_03_05.md"),
        ("v1/x.md", "v2/root.md"),
        ("v2/x.md", "v1/root.md"),
        ("z/by id.md", "z/202403151230 Zettel.md"),
        ("z/by id.md", "z/20240315T123045--title__tag.org"),
    ];
    assert_eq!(edges(&mut daemon), expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
    let answer = graph(&mut daemon, &GraphRequest::default());
    assert!(answer.unresolved.is_empty(), "{:?}", answer.unresolved);
}

#[test]
fn a_condition_on_a_name_that_several_notes_have_means_all_of_them() {
    let place = Place::with(&[
        ("a/Same.md", "Keel [[Other]].\n"),
        ("b/Same.md", "Keel [[Third]].\n"),
        ("a/x.md", "Otters [[Same]].\n"),
        ("b/x.md", "Otters [[Same]].\n"),
        ("c/x.md", "Otters.\n"),
        ("Other.md", "Otters.\n"),
        ("Third.md", "Otters.\n"),
    ]);
    let mut daemon = place.start();
    for (query_text, expected) in [
        ("otters link:Same", &["a/x.md", "b/x.md"][..]),
        ("otters link:b/Same", &["b/x.md"]),
        ("otters linked-from:Same", &["Other.md", "Third.md"]),
    ] {
        let mut found = daemon.search(query_text);
        found.sort();
        assert_eq!(found, expected, "{query_text}");
    }
}
