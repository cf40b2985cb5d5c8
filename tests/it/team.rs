//! Vaults that are shared with a team: real daemons; and a real Qdrant, where `SITUATED_QDRANT` names its program.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use protocol::contexts::ReviewRequest;
use protocol::daemon::CostRequest;
use protocol::envelope::ErrorKind;
use protocol::grep::GrepRequest;
use protocol::note::GetRequest;
use protocol::search::{Include, SearchRequest};
use protocol::team::{TeamDropRequest, TeamInitRequest, TeamPublishRequest, TeamStatusRequest, TeamVerifyRequest};

use crate::commands::{err, out};
use crate::contexts::{self, ATLAS, SMALL_CHUNKS, wait_written};
use crate::model::Model;
use crate::requests::{paths, query};
use crate::support::{Daemon, Place, eventually};

const CANARY: &str = "quetzalcoatlus";

pub(crate) fn team(port: u16, more: &str) -> String {
    format!("{more}[team.handbook]\nurl = \"http://127.0.0.1:{port}\"\ncollection = \"handbook\"\n")
}

pub(crate) fn start(place: &Place, settings: &str) -> Daemon {
    place.configure(settings);
    let mut daemon = place.spawn_command(place.command().arg("run"));
    daemon.wait_idle();
    daemon
}

/// A search whose hits carry their texts.
fn with_texts(words: &str) -> SearchRequest {
    SearchRequest { include: Include::TEXTS.to_vec(), ..query(words) }
}

#[test]
fn a_team_that_is_down_or_late_is_left_out_and_the_answer_says_so() {
    // Connections to it are accepted by the kernel, and nobody ever reads from them.
    let late = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let down = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    for (port, why) in [(late.local_addr().unwrap().port(), "no answer within 300 ms"), (down, "cannot be reached")] {
        let place = Place::with(&[("a.md", "# Heron\n\nThe heron stands.\n")]);
        let mut daemon = start(&place, &team(port, "publish = \"handbook\"\n"));
        let answer = daemon.ask(&query("heron"));
        assert_eq!(paths(&answer.hits), ["a.md"]);
        let said = answer.warnings.join("\n");
        assert!(
            said.contains("without `handbook`: ") && (said.contains(why) || said.contains("did not answer")),
            "{said}"
        );
        let alone = daemon.ask(&SearchRequest { vault: Some("notes".to_owned()), ..query("heron") });
        assert_eq!((paths(&alone.hits), alone.warnings.len()), (vec!["a.md"], 0));
        let status = daemon.ask(&TeamStatusRequest::default());
        assert!(status.teams[0].problem.is_some(), "{status:?}");
        let named = daemon.ask(&SearchRequest { vault: Some("handbook/notes".to_owned()), ..query("heron") });
        assert!(named.hits.is_empty() && named.warnings.iter().any(|said| said.contains("without `handbook`")));
        if why == "cannot be reached" {
            let told =
                |problem: &String| problem.contains("`notes` is not published as it is") && problem.contains(why);
            eventually("it is told", || daemon.status().problems.iter().any(told));
            let said = out(&place.run(&["doctor"]));
            assert!(said.contains("is not published as it is"), "{said}");
        }
        assert!(daemon.status().leaves_machine.is_empty());
        place.configure(&(team(port, "publish = \"handbook\"\n") + "passes_on = true\n"));
        daemon.reload();
        let leaves = daemon.status().leaves_machine.join("\n");
        assert!(leaves.contains("queries, to 127.0.0.1") && leaves.contains("notes of `notes`"), "{leaves}");
        assert_eq!(daemon.stop(), Some(0));
    }
}

#[test]
fn what_is_wrong_with_a_team_is_told_where_it_stands() {
    let place = Place::with(&[("a.md", "heron")]);
    for (settings, says) in [
        (
            "publish = \"handbok\"\n[team.handbook]\nurl = \"http://127.0.0.1:1\"\ncollection = \"a\"\n",
            "did you mean `handbook`?",
        ),
        ("publish = \"handbook\"\n", "write `[team.handbook]` with its `url` and `collection`"),
        ("[team.handbook]\nurl = \"http://127.0.0.1:1\"\n", "this team has no `collection`"),
        ("[team.handbook]\nurl = \"http://qdrant.example.org\"\ncollection = \"a\"\n", "in the clear"),
        ("[team.handbook]\nurl = \"http://127.0.0.1:1\"\ncollection = \"a/b\"\n", ": write a name of letters"),
        (
            "[team.handbook]\nurl = \"http://127.0.0.1:1\"\nreplicas = \"http://127.0.0.1:2\"\ncollection = \"a\"\n",
            "write a list, such as `replicas = [",
        ),
        (
            "[team.handbook]\nurl = \"http://127.0.0.1:1\"\nreplicas = [\"http://qdrant.example.org\"]\ncollection = \"a\"\n",
            "in the clear",
        ),
        (
            "[team.handbook]\nurl = \"http://127.0.0.1:1\"\nreplicas = [\"http://127.0.0.1:1/\"]\ncollection = \"a\"\n",
            "stands twice",
        ),
        (
            "[team.handbook]\nurl = \"http://127.0.0.1:1\"\ncollection = \"a\"\napi_key = \"x\"\n",
            "no key stands in this file",
        ),
        ("[team.Hand Book]\nurl = \"http://127.0.0.1:1\"\ncollection = \"a\"\n", "TOML"),
        (
            "[team.handbook]\nurl = \"http://127.0.0.1:1\"\ncollection = \"a\"\ntimeout = \"20s\"\n",
            "leaves nothing of serve.query_timeout",
        ),
        (
            "[team.handbook]\nurl = \"http://127.0.0.1:1\"\ncollection = \"a\"\nkey_file = \"/k\"\nkey_command = \"k\"\n",
            "are both set",
        ),
    ] {
        place.configure(settings);
        let checked = place.run(&["config", "check"]);
        let said = out(&checked) + &err(&checked);
        assert!(!checked.status.success() && said.contains(says), "{settings}\n{said}");
    }
    place.configure(
        "publish = \"handbook\"\n[team.handbook]\nurl = \"https://q.example:6333\"\ncollection = \"a\"\n\
         replicas = [\"https://r.example:6333\"]\nkey_command = \"pass q\"\nca_file = \"/etc/ca.pem\"\n",
    );
    let shown = out(&place.run(&["config", "show"]));
    assert!(shown.contains("[team.handbook]") && shown.contains("publish = \"handbook\""), "{shown}");
    assert!(shown.contains("replicas = [\"https://r.example:6333\"]"), "{shown}");
    assert!(shown.contains("ca_file = \"/etc/ca.pem\""), "{shown}");
    assert!(!shown.contains("pass q"), "{shown}");
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_member_finds_and_reads_what_a_keeper_publishes_and_nothing_private_leaves() {
    let server = Server::start();
    let wire = Wire::start(server.port);
    let private = format!("---\ntags: [private]\n---\n# Own\n\nThe {CANARY} is mine.\n");
    let keepers = Place::with(&[
        ("Birds/heron.md", "---\ntags: [bird]\n---\n# Heron\n\nThe heron stands in the lagoon.\n"),
        ("tax.md", "# Tax\n\nInvoices are paid within thirty days.\n"),
        ("own.md", &private),
        ("Journal/day.md", &format!("# {CANARY}\n")),
    ]);
    let settings = team(wire.port, "private = [\"Journal/\"]\npublish = \"handbook\"\n");
    let mut keeper = start(&keepers, &settings);
    let missing = keeper.refused(&TeamPublishRequest::default());
    assert_eq!(missing.kind, ErrorKind::Provider);
    assert!(missing.message.contains("situated team init"), "{}", missing.message);
    let made = keeper.ask(&TeamInitRequest { team: "handbook".to_owned(), bits: false });
    assert_eq!(made.teams[0].vaults[0].problem, None, "what failed before");
    let done = keeper.ask(&TeamPublishRequest::default());
    assert_eq!((done.teams[0].vaults[0].notes, done.teams[0].vaults[0].left), (2, 0), "{done:?}");
    let own = keeper.ask(&query("heron lagoon"));
    assert_eq!(own.hits[0].vault, "notes");
    assert!(own.hits.iter().all(|hit| !hit.vault.starts_with("handbook/")), "found twice");

    let members = Place::with(&[("mine.md", "# Mine\n\nMy kitchen.\n")]);
    let mut member = start(&members, &team(server.port, ""));
    let found = member.ask(&query("herons tag:bird"));
    assert_eq!(
        (found.hits[0].vault.as_str(), found.hits[0].path.as_str()),
        ("handbook/notes", "Birds/heron.md"),
        "{found:?}"
    );
    assert!(found.hits[0].snippet.contains("heron stands"), "{found:?}");
    let get = GetRequest {
        path: "Birds/heron.md".to_owned(),
        vault: Some("handbook/notes".to_owned()),
        ..GetRequest::default()
    };
    let read = member.ask(&get);
    assert!(read.text.contains("The heron stands in the lagoon."), "{read:?}");
    assert_eq!(member.refused(&GetRequest { path: "own.md".to_owned(), ..get }).kind, ErrorKind::NotFound);
    let grep =
        GrepRequest { pattern: "heron".to_owned(), vault: Some("handbook/notes".to_owned()), ..GrepRequest::default() };
    let refused = member.refused(&grep);
    assert!(refused.message.contains("not on this machine"), "{}", refused.message);
    assert!(member.ask(&with_texts(CANARY)).hits.iter().all(|hit| !hit.text.contains(CANARY)));

    // Another keeper of a vault of this name is refused; what is saved is published by itself.
    let others = Place::with(&[("other.md", "# Other\n")]);
    let mut other = start(&others, &team(server.port, "publish = \"handbook\"\n"));
    let refused = other.refused(&TeamPublishRequest::default());
    assert!(refused.message.contains("a vault has one keeper"), "{}", refused.message);
    keepers.write("new.md", "# Okapi\n\nThe okapi is shy.\n");
    eventually("a member finds what was saved", || {
        member.ask(&query("okapi")).hits.iter().any(|hit| hit.path == "new.md")
    });

    // Killed with changes that it has not seen, it goes on where it was.
    keeper.kill();
    keepers.write("tax.md", "# Tax\n\nInvoices are paid within the hour.\n");
    std::fs::remove_file(keepers.vault.join("new.md")).unwrap();
    let mut keeper = start(&keepers, &settings);
    keeper.ask(&TeamPublishRequest::default());
    let compared = keeper.ask(&TeamVerifyRequest::default());
    assert_eq!((compared.vaults[0].differences, compared.vaults[0].notes), (0, 2), "{compared:?}");
    eventually("a member sees it", || {
        let hits = member.ask(&with_texts("okapi invoices hour")).hits;
        hits.iter().any(|hit| hit.text.contains("within the hour")) && hits.iter().all(|hit| hit.path != "new.md")
    });
    // A note that becomes private goes.
    keepers.write("tax.md", "---\ntags: [private]\n---\n# Tax\n\nInvoices are paid within the hour.\n");
    eventually("what became private is gone", || {
        member.ask(&query("invoices hour")).hits.iter().all(|hit| hit.path != "tax.md")
    });
    let sent = wire.sent.lock().unwrap().clone();
    assert!(contains(&sent, "The heron stands"), "nothing was recorded");
    assert!(!contains(&sent, CANARY), "a private note went over the wire");
    assert!(!keeper.log().contains("heron") && !member.log().contains("heron stands"));
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn what_one_member_has_bought_no_other_buys() {
    let server = Server::start();
    let settings = |model: &Model, vault: &str| {
        format!("{vault}{}{SMALL_CHUNKS}{}", model.config("anthropic", ""), team(server.port, ""))
    };
    let (first_model, second_model) = (Model::start(), Model::start());
    let keepers = Place::with(&[("Atlas rollout.md", ATLAS)]);
    keepers.configure(&settings(&first_model, "publish = \"handbook\"\n"));
    let mut keeper = contexts::start(&keepers);
    wait_written(&mut keeper);
    keeper.ask(&TeamInitRequest { team: "handbook".to_owned(), bits: false });
    keeper.ask(&TeamPublishRequest::default());
    assert_eq!(keeper.ask(&TeamVerifyRequest::default()).vaults[0].differences, 0);

    let members = Place::with(&[("Copies/Atlas.md", ATLAS)]);
    members.configure(&settings(&second_model, ""));
    let mut member = contexts::start(&members);
    wait_written(&mut member);
    let found = |daemon: &mut Daemon| {
        let hits = daemon.ask(&SearchRequest { vault: Some("notes".to_owned()), ..with_texts("vendor contract") }).hits;
        hits.into_iter().next().unwrap().context
    };
    let (theirs, taken) = (found(&mut keeper), found(&mut member));
    let line = |context: &str| context.lines().last().unwrap().to_owned();
    assert_eq!((line(&taken), first_model.calls(), second_model.calls()), (line(&theirs), 1, 0));
    let cost = member.ask(&CostRequest::default());
    let saved = &cost.by_team[0];
    assert_eq!((saved.team.as_str(), saved.contexts, saved.calls, cost.today.calls), ("handbook", 3, 1, 0));
    assert!(saved.micro_dollars > 0, "{saved:?}");
    let status = member.ask(&TeamStatusRequest::default());
    assert_eq!(status.teams[0].saved.as_ref(), Some(saved));
    let said = out(&members.run(&["team", "status"])) + &out(&members.run(&["cost"]));
    assert!(said.matches("1 call, 3 contexts").count() == 2, "{said}");

    let reviewed = member.ask(&ReviewRequest { sample: Some(3), ..ReviewRequest::default() }).contexts;
    assert!(reviewed.iter().all(|context| context.generation == "a model of the team"), "{reviewed:?}");

    // What the team does not have is bought.
    members.write("Copies/Atlas.md", ATLAS.replace("## Risks", "## Dangers"));
    eventually("the renamed section is asked for", || second_model.calls() == 1);
    assert_eq!(second_model.asked()[0].wanted, [2]);
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_server_that_comes_late_or_goes_for_a_while_stops_nobody_here() {
    let port = Server::free();
    let keepers = Place::with(&[("heron.md", "# Heron\n\nThe heron stands.\n")]);
    let mut keeper = start(&keepers, &team(port, "publish = \"handbook\"\n"));
    assert_eq!(paths(&keeper.ask(&query("heron")).hits), ["heron.md"]);
    let refused = keeper.refused(&TeamInitRequest { team: "handbook".to_owned(), bits: false });
    assert!(refused.message.contains("cannot be reached"), "{}", refused.message);
    let mut server = Server::start_at(port);
    keeper.ask(&TeamInitRequest { team: "handbook".to_owned(), bits: false });
    let is_there = |daemon: &mut Daemon, words: &str| {
        daemon.ask(&with_texts(words)).hits.iter().any(|hit| hit.vault == "handbook/notes" && hit.text.contains(words))
    };
    let members = Place::with(&[("mine.md", "# Mine\n\nMy kitchen.\n")]);
    let mut member = start(&members, &team(port, ""));
    eventually("what was there before the server is published", || is_there(&mut member, "heron"));

    server.kill();
    keepers.write("heron.md", "# Heron\n\nThe okapi stands.\n");
    keepers.write("new.md", "# New\n\nA tapir.\n");
    keeper.wait_holding("tapir", &["new.md"]);
    let alone = member.ask(&query("kitchen"));
    assert_eq!(paths(&alone.hits), ["mine.md"]);
    assert!(alone.warnings.iter().any(|said| said.starts_with("without `handbook`: ")), "{:?}", alone.warnings);
    server.start_again();
    eventually("what was saved meanwhile is published", || {
        is_there(&mut member, "tapir") && is_there(&mut member, "okapi") && !is_there(&mut member, "heron stands")
    });
    assert_eq!(keeper.ask(&TeamVerifyRequest::default()).vaults[0].differences, 0);
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_team_answers_the_query_language_or_says_what_it_does_not_know() {
    let server = Server::start();
    let keepers = Place::with(&[
        ("work/heron.md", "---\ntags: [bird]\nstatus: done\n---\n# Heron\n\nThe heron stands. See [[Lagoon plan]].\n"),
        (
            "work/Lagoon plan.md",
            "---\ntags: [plan]\ndate: 2025-03-01\n---\n# Lagoon plan\n\nThe heron and the okapi meet.\n",
        ),
        ("home/okapi.draft.md", "# Okapi\n\nThe okapi is shy.\n"),
    ]);
    let mut keeper = start(&keepers, &team(server.port, "publish = \"handbook\"\n"));
    keeper.ask(&TeamInitRequest { team: "handbook".to_owned(), bits: false });
    keeper.ask(&TeamPublishRequest::default());
    let members = Place::with(&[("mine.md", "# Mine\n\nMy kitchen.\n")]);
    let mut member = start(&members, &team(server.port, ""));
    let (heron, plan, okapi) = ("work/heron.md", "work/Lagoon plan.md", "home/okapi.draft.md");
    for (words, expected) in [
        ("heron AND okapi", vec![plan]),
        ("okapi AND NOT heron", vec![okapi]),
        ("(tag:bird OR path:home) AND (heron OR okapi)", vec![okapi, heron]),
        ("heron path:work/*plan*", vec![plan]),
        ("okapi -path:**/*.draft.md -tag:bird -\"my kitchen\"", vec![plan]),
        ("heron link:\"Lagoon plan\"", vec![heron]),
        ("okapi \"is shy\"", vec![okapi]),
        ("okapi before:2025-06", vec![plan]),
        ("okapi /is s.y/", vec![okapi]),
    ] {
        // As the vault itself answers.
        for daemon in [&mut member, &mut keeper] {
            let answer = daemon.ask(&query(words));
            let mut found = paths(&answer.hits);
            found.sort_unstable();
            assert_eq!((found, answer.warnings), (expected.clone(), Vec::new()), "{words}");
        }
    }
    for (words, named) in [
        ("heron prop.status:done", "`prop.status`"),
        ("heron AND linked-from:\"Lagoon plan\"", "`linked-from:Lagoon plan`"),
        ("tag:bird", "conditions only"),
    ] {
        let answer = member.ask(&query(words));
        let said = answer.warnings.join("\n");
        assert!(said.contains("`handbook` was not asked: ") && said.contains(named), "{words}: {said}");
        assert!(answer.hits.iter().all(|hit| hit.vault == "notes"), "{words}");
    }
    // The member's own vault has the name of the keeper's, and is another.
    for (words, is_asked) in [
        ("heron kitchen vault:handbook", true),
        ("heron kitchen vault:Handbook/notes", true),
        ("heron kitchen -vault:notes", true),
        ("heron kitchen vault:notes", false),
        ("heron kitchen -vault:handbook", false),
        ("(heron OR kitchen) AND NOT vault:handbook", false),
    ] {
        let answer = member.ask(&query(words));
        let vaults: Vec<&str> = answer.hits.iter().map(|hit| hit.vault.as_str()).collect();
        let expected = if is_asked { "handbook/notes" } else { "notes" };
        assert!(!vaults.is_empty() && vaults.iter().all(|vault| *vault == expected), "{words}: {vaults:?}");
    }
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn what_is_published_follows_the_vault_its_name_and_its_links() {
    let server = Server::start();
    let long: String = (0..900).map(|number| format!("Sentence number {number} tells of the tide. ")).collect();
    let long = long.trim_end();
    let keepers = Place::with(&[
        ("heron.md", "# Heron\n\nThe heron stands. See [[Lagoon]].\n"),
        ("long.md", &format!("---\nkind: text\n---\n# Long\n\n{long}\n\nThe end.\n")),
    ]);
    let mut keeper = start(&keepers, &team(server.port, "publish = \"handbook\"\n"));
    keeper.ask(&TeamInitRequest { team: "handbook".to_owned(), bits: false });
    keeper.ask(&TeamPublishRequest::default());
    let members = Place::with(&[("mine.md", "# Mine\n\nMy kitchen.\n")]);
    let mut member = start(&members, &team(server.port, ""));
    let get = |vault: &str, path: &str| GetRequest {
        path: path.to_owned(),
        vault: (!vault.is_empty()).then(|| vault.to_owned()),
        ..GetRequest::default()
    };

    // However it is named, a note is read whole.
    for (vault, path) in
        [("handbook/notes", "long.md"), ("", "handbook/notes: long.md"), ("", "handbook/notes:long.md")]
    {
        let read = member.ask(&get(vault, path));
        let expected = format!("\n\n\n# Long\n\n{long}\n\nThe end.\n");
        assert!(read.text == expected && !read.truncated, "{path}: {} of {}", read.text.len(), expected.len());
    }
    let shown = out(&members.run(&["get", "handbook/notes: long.md:8"]));
    assert_eq!(shown, "The end.\n");
    let found = out(&members.run(&["search", "sentence of the tide", "--vault", "handbook/notes", "--limit", "1"]));
    assert!(found.contains("handbook/notes: long.md:6"), "{found}");
    let opened = members.run(&["search", "sentence of the tide", "--vault", "handbook/notes", "--open"]);
    assert!(err(&opened).contains("`situated get 'handbook/notes: long.md'`"), "{}", err(&opened));
    let unknown = member.refused(&get("handbook/nope", "long.md"));
    assert!(unknown.message.contains("vault") && unknown.message.contains("handbook/nope"), "{}", unknown.message);

    // What links lead to may come, and become private.
    let linking = |member: &mut Daemon| paths(&member.ask(&query("heron link:Lagoon")).hits).len();
    assert_eq!(linking(&mut member), 0);
    keepers.write("Lagoon.md", "# Lagoon\n\nThe tide.\n");
    eventually("the link leads to what was written", || linking(&mut member) == 1);
    keepers.write("Lagoon.md", "---\ntags: [private]\n---\n# Lagoon\n\nThe tide.\n");
    eventually("it does not lead to a private note", || linking(&mut member) == 0);
    assert_eq!(keeper.ask(&TeamVerifyRequest::default()).vaults[0].differences, 0);

    // Under its former name it is there no more, nor when it is not published.
    let renamed = keepers.run(&["vault", "rename", "notes", "docs"]);
    assert!(renamed.status.success(), "{}", err(&renamed));
    let gone = |member: &mut Daemon, vault: &str| {
        eventually("it is withdrawn", || {
            let status = member.ask(&TeamStatusRequest::default());
            status.teams[0].vaults.iter().all(|known| known.name != vault)
        });
        assert!(member.refused(&get(&format!("handbook/{vault}"), "heron.md")).message.contains("vault"));
    };
    gone(&mut member, "notes");
    eventually("it has its new name", || {
        member.ask(&query("heron")).hits.iter().any(|hit| hit.vault == "handbook/docs")
    });
    let config = keepers.dir.path().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("publish = \"handbook\"\n", "")).unwrap();
    keeper.reload();
    gone(&mut member, "docs");
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_keeper_that_rests_notices_that_its_collection_is_gone_or_there() {
    let server = Server::start();
    let keeper_of = |name: &str| {
        let place = Place::with(&[("heron.md", "# Heron\n\nThe heron stands.\n")]);
        place.configure("");
        let config = std::fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
        let config = config.replace("name = \"notes\"", &format!("name = \"{name}\""));
        std::fs::write(place.dir.path().join("config.toml"), config + &team(server.port, "publish = \"handbook\"\n"))
            .unwrap();
        let mut daemon = place.spawn_command(place.command().arg("run"));
        daemon.wait_idle();
        (place, daemon)
    };
    let ((_first, mut one), (_second, mut other)) = (keeper_of("one"), keeper_of("other"));
    let init = TeamInitRequest { team: "handbook".to_owned(), bits: false };
    one.ask(&init);
    one.ask(&TeamPublishRequest::default());
    other.ask(&TeamPublishRequest::default());
    let state = |daemon: &mut Daemon| {
        let info = daemon.ask(&TeamStatusRequest::default()).teams.remove(0);
        let own = info.vaults.iter().find(|vault| vault.own).unwrap();
        (info.problem.is_some(), own.notes)
    };
    assert_eq!((state(&mut one), state(&mut other)), ((false, 1), (false, 1)));
    other.ask(&TeamDropRequest { team: "handbook".to_owned() });
    assert_eq!(state(&mut one), (true, 0));
    eventually("the keeper says so, too", || {
        one.status().problems.iter().any(|problem| problem.contains("there is no collection"))
    });
    other.ask(&init);
    eventually("the keeper goes on", || state(&mut one) == (false, 1));
    assert!(one.status().problems.is_empty());
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_team_is_sent_the_query_as_it_was_typed() {
    let server = Server::start();
    let keepers = Place::with(&[("heron.md", "# Heron\n\nThe heron stands in the lagoon.\n")]);
    let mut keeper = start(&keepers, &team(server.port, "publish = \"handbook\"\n"));
    keeper.ask(&TeamInitRequest { team: "handbook".to_owned(), bits: false });
    keeper.ask(&TeamPublishRequest::default());

    let wire = Wire::start(server.port);
    let typed = "quetzalcoatlis";
    let private = format!("---\ntags: [private]\n---\n# {CANARY}\n\nThe {CANARY} flies.\n");
    let members = Place::with(&[("own.md", &private)]);
    let mut member = start(&members, &team(wire.port, ""));
    let answer = member.ask(&query(typed));
    assert_eq!(answer.hits[0].path, "own.md", "{answer:?}");
    assert!(answer.warnings.iter().any(|said| said.contains(CANARY)), "it was not corrected: {:?}", answer.warnings);
    let sent = wire.sent.lock().unwrap().clone();
    let vector = |words: &str| {
        let vector = index::embed::builtin::model().embed(words);
        let values: Vec<f32> = vector.values.iter().map(|value| vector.scale * f32::from(*value)).collect();
        serde_json::json!(values).to_string()
    };
    assert!(contains(&sent, &vector(typed)), "the query as typed");
    assert!(!contains(&sent, &vector(CANARY)) && !contains(&sent, CANARY));
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}

/// A server of the test's own.
pub(crate) struct Server {
    pub(crate) port: u16,
    child: Child,
    dir: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::start_at(Server::free())
    }

    fn free() -> u16 {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
    }

    fn start_at(port: u16) -> Server {
        let dir = tempfile::tempdir().unwrap();
        Server { port, child: Server::spawn(port, dir.path()), dir }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// On the same files and the same port.
    fn start_again(&mut self) {
        self.child = Server::spawn(self.port, self.dir.path());
    }

    fn spawn(port: u16, dir: &Path) -> Child {
        let program = std::env::var_os("SITUATED_QDRANT").expect("SITUATED_QDRANT names the program of Qdrant");
        let child = Command::new(program)
            .current_dir(dir)
            .env("QDRANT__SERVICE__HOST", "127.0.0.1")
            .env("QDRANT__SERVICE__HTTP_PORT", port.to_string())
            .env("QDRANT__SERVICE__GRPC_PORT", Server::free().to_string())
            .env("QDRANT__TELEMETRY_DISABLED", "true")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the server listens", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        child
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What lies between a daemon and its server, and keeps what is sent.
struct Wire {
    port: u16,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Wire {
    fn start(to: u16) -> Wire {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = sent.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, to))).unwrap();
                let (client_again, server_again) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let kept = kept.clone();
                std::thread::spawn(move || pass(client, server, Some(&kept)));
                std::thread::spawn(move || pass(server_again, client_again, None));
            }
        });
        Wire { port, sent }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, kept: Option<&Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if let Some(kept) = kept {
            kept.lock().unwrap().extend_from_slice(&buffer[..read]);
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
