//! Keepers of a team's vaults when something about them changes: the server, the embedder, who keeps a vault; and what
//! members are told. With a real Qdrant, where `SITUATED_QDRANT` names its program.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};

use protocol::envelope::ErrorKind;
use protocol::hit::NoteStanding;
use protocol::search::SearchRequest;
use protocol::team::{
    TeamDropRequest, TeamInfo, TeamInitRequest, TeamPublishRequest, TeamStatusRequest, TeamVerifyRequest,
};
use serde_json::{Value, json};

use crate::commands::{err, out};
use crate::requests::{near, paths, query};
use crate::support::{Daemon, Place, eventually};
use crate::tables::{Form, Kind, StaticTable};
use crate::team::{Server, start, team};

/// A request to a server, past everything of ours.
fn ask(server: &Server, method: &str, path: &str, body: &Value) -> Value {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
    let body = body.to_string();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    let head = format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, answer) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(answer).unwrap()
}

/// The paths of the notes that lie in a collection, whoever may see them.
fn lying(server: &Server, collection: &str) -> Vec<String> {
    let asked = json!({"limit": 1000, "with_payload": ["path"]});
    let found = ask(server, "POST", &format!("/collections/{collection}/points/scroll"), &asked);
    let points = found["result"]["points"].as_array().cloned().unwrap_or_default();
    points.iter().filter_map(|point| Some(point["payload"]["path"].as_str()?.to_owned())).collect()
}

fn init(daemon: &mut Daemon, team: &str) {
    daemon.ask(&TeamInitRequest { team: team.to_owned(), bits: false });
}

fn keeper_of(server: &Server, notes: &[(&str, &str)]) -> (Place, Daemon) {
    let place = Place::with(notes);
    let daemon = start(&place, &team(server.port, "publish = \"handbook\"\n"));
    (place, daemon)
}

fn info(daemon: &mut Daemon) -> TeamInfo {
    daemon.ask(&TeamStatusRequest::default()).teams.remove(0)
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_vault_that_moves_to_another_server_is_withdrawn_from_the_first() {
    let (first, second) = (Server::start(), Server::start());
    let place = Place::with(&[("heron.md", "# Heron\n\nThe heron stands.\n")]);
    let teams = |publish: &str| {
        let table = |name: &str, port: u16| {
            format!("[team.{name}]\nurl = \"http://127.0.0.1:{port}\"\ncollection = \"moving\"\n")
        };
        format!("publish = \"{publish}\"\n{}{}", table("a", first.port), table("b", second.port))
    };
    let mut daemon = start(&place, &teams("a"));
    init(&mut daemon, "a");
    daemon.ask(&TeamPublishRequest { team: Some("a".to_owned()), take_over: false });
    assert_eq!(lying(&first, "moving"), ["heron.md"]);
    place.configure(&teams("b"));
    daemon.reload();
    init(&mut daemon, "b");
    eventually("it is withdrawn from the first server", || lying(&first, "moving").is_empty());
    eventually("it is published on the second", || lying(&second, "moving") == ["heron.md"]);
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn what_became_private_is_withdrawn_though_nothing_can_be_published() {
    let server = Server::start();
    let (place, mut daemon) = keeper_of(
        &server,
        &[
            ("pay.md", "# Pay\n\nThe salary of the heron.\n"),
            ("old.md", "# Old\n\nThe okapi.\n"),
            ("open.md", "# Open\n\nThe tapir stands.\n"),
            ("late.md", "# Late\n\nThe gnu.\n"),
        ],
    );
    init(&mut daemon, "handbook");
    daemon.ask(&TeamPublishRequest::default());
    assert_eq!(lying(&server, "handbook").len(), 4);

    let table = place.dir.path().join("table");
    StaticTable::of(&[&["heron", "okapi"], &["tapir", "gnu"]], Form::WordPiece, Kind::F32).write(&table);
    let embed = format!("[embed]\nprovider = \"static\"\npath = \"{}\"\n", table.display());
    place.configure(&(team(server.port, "publish = \"handbook\"\n") + &embed));
    daemon.reload();
    eventually("the keeper cannot publish", || {
        daemon.status().problems.iter().any(|why| why.contains("take the same embedder"))
    });
    place.write("pay.md", "---\ntags: [private]\n---\n# Pay\n\nThe salary of the heron.\n");
    std::fs::remove_file(place.vault.join("old.md")).unwrap();
    place.write("open.md", "# Open\n\nThe tapir sleeps.\n");
    eventually("both are withdrawn", || {
        let mut left = lying(&server, "handbook");
        left.sort();
        left == ["late.md", "open.md"]
    });
    // Also at once, when somebody asks for it.
    std::fs::remove_file(place.vault.join("late.md")).unwrap();
    daemon.sync();
    let refused = daemon.refused(&TeamPublishRequest::default());
    assert!(refused.message.contains("take the same embedder"), "{}", refused.message);
    assert_eq!(lying(&server, "handbook"), ["open.md"]);
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn after_a_vault_is_taken_over_both_keepers_say_whose_it_is_and_saves_are_published() {
    let server = Server::start();
    let (_first, mut one) =
        keeper_of(&server, &[("heron.md", "# Heron\n\nThe heron stands.\n"), ("okapi.md", "# Okapi\n\nIt is shy.\n")]);
    init(&mut one, "handbook");
    one.ask(&TeamPublishRequest::default());
    let (second, mut other) = keeper_of(&server, &[("tapir.md", "# Tapir\n\nThe tapir sleeps.\n")]);
    eventually("it is refused", || other.status().problems.iter().any(|why| why.contains("a vault has one keeper")));

    // The team's vault is another one than its own of the same name.
    let found = other.ask(&query("heron stands")).hits;
    assert!(found.iter().any(|hit| hit.vault == "handbook/notes" && hit.path == "heron.md"), "{found:?}");

    other.ask(&TeamPublishRequest { team: None, take_over: true });
    assert_eq!(lying(&server, "handbook"), ["tapir.md"]);
    assert!(other.ask(&query("tapir sleeps")).hits.iter().all(|hit| hit.vault == "notes"), "found twice");
    let lost = info(&mut one).vaults.remove(0);
    let why = lost.problem.as_deref().unwrap_or_default();
    assert!(lost.notes == 0 && why.contains("a vault has one keeper"), "{lost:?}");
    assert!(one.status().problems.iter().any(|why| why.contains("a vault has one keeper")));
    second.write("gnu.md", "# Gnu\n\nThe gnu.\n");
    eventually("what is saved is published", || lying(&server, "handbook").contains(&"gnu.md".to_owned()));

    // The same if the collection is another one by now.
    one.ask(&TeamDropRequest { team: "handbook".to_owned() });
    init(&mut one, "handbook");
    one.ask(&TeamPublishRequest::default());
    let lost = info(&mut other).vaults.remove(0);
    assert!(lost.problem.as_deref().unwrap_or_default().contains("a vault has one keeper"), "{lost:?}");
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_collection_that_situated_did_not_make_is_not_deleted() {
    let server = Server::start();
    ask(&server, "PUT", "/collections/handbook", &json!({"vectors": {"size": 4, "distance": "Cosine"}}));
    let (place, mut daemon) = keeper_of(&server, &[("heron.md", "# Heron\n\nThe heron stands.\n")]);
    let foreign = "was not made by situated";
    let refused = daemon.refused(&TeamDropRequest { team: "handbook".to_owned() });
    assert!(refused.kind == ErrorKind::Provider && refused.message.contains(foreign), "{refused:?}");
    let asked = place.run(&["team", "drop", "handbook"]);
    assert!(!asked.status.success() && err(&asked).contains(foreign), "{}{}", out(&asked), err(&asked));
    assert!(info(&mut daemon).problem.unwrap().contains(foreign));
    eventually("the status says so", || daemon.status().problems.iter().any(|why| why.contains(foreign)));
    assert_eq!(ask(&server, "GET", "/collections/handbook", &Value::Null)["status"], "ok");

    // Its own goes, and it is no fault if it is gone already.
    ask(&server, "DELETE", "/collections/handbook", &Value::Null);
    init(&mut daemon, "handbook");
    daemon.ask(&TeamDropRequest { team: "handbook".to_owned() });
    assert_ne!(ask(&server, "GET", "/collections/handbook", &Value::Null)["status"], "ok");
    daemon.ask(&TeamDropRequest { team: "handbook".to_owned() });
}

#[test]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
fn a_member_may_name_a_team_wherever_a_vault_is_named_and_is_told_what_a_team_does_not_know() {
    let server = Server::start();
    let (_keepers, mut keeper) = keeper_of(
        &server,
        &[
            ("Onboarding.md", "---\nstatus: done\n---\n# Onboarding\n\nThe heron badge opens the laptop room.\n"),
            ("Room.md", "# Room\n\nA room for laptops.\n"),
        ],
    );
    init(&mut keeper, "handbook");
    keeper.ask(&TeamPublishRequest::default());
    assert_eq!(keeper.ask(&TeamVerifyRequest::default()).vaults[0].differences, 0);
    let members = Place::with(&[("mine.md", "# Mine\n\nMy kitchen has a heron badge.\n")]);
    let mut member = start(&members, &team(server.port, ""));
    let of_team = ("handbook/notes", "Onboarding.md");

    // A team's name is that of all its vaults.
    let named = |vault: &str, words: &str| SearchRequest { vault: Some(vault.to_owned()), ..query(words) };
    for vault in ["handbook", "handbook/notes"] {
        let found = member.ask(&named(vault, "heron badge")).hits;
        assert_eq!(paths(&found)[0], of_team.1, "{vault}");
        assert!(found.iter().all(|hit| hit.vault == of_team.0), "{vault}: {found:?}");
    }
    assert!(member.refused(&named("handbok", "heron")).message.contains("handbok"));
    let answer = member.ask(&query("heron prop.status:done vault:handbook"));
    let said = answer.warnings.join("\n");
    assert!(!said.contains("meets `vault:") && !said.contains("or `vault:"), "{said}");
    assert!(said.contains("`handbook` was not asked"), "{said}");

    // Why a note of the team was found where it was.
    let expecting = |note: &str| SearchRequest { expect: Some(note.to_owned()), ..query("heron badge laptop") };
    let answer = member.ask(&expecting("handbook/notes: Onboarding.md"));
    let at = answer.hits.iter().position(|hit| (hit.vault.as_str(), hit.path.as_str()) == of_team);
    let at = at.expect("the team is asked") as u32 + 1;
    let expected = answer.expected.unwrap();
    assert_eq!((expected.vault.as_str(), expected.path.as_str()), of_team);
    assert_eq!((expected.standing, expected.hit), (NoteStanding::Hit, Some(at)), "{expected:?}");
    // Where a note stands among those here is computed without teams, and the answer says so.
    for (note, standing) in [("mine.md", NoteStanding::Hit), ("Onboarding", NoteStanding::Missing)] {
        let answer = member.ask(&expecting(note));
        let said = answer.warnings.join("\n");
        assert!(said.contains("`handbook` was not asked") && paths(&answer.hits) == ["mine.md"], "{note}: {said}");
        assert_eq!(answer.expected.unwrap().standing, standing, "{note}");
    }
    let unfound =
        SearchRequest { expect: Some("handbook/notes: Room.md".to_owned()), limit: Some(1), ..query("heron") };
    let why = member.ask(&unfound).expected.unwrap().why.join(" ");
    assert!(why.contains("is a team's") && !why.contains("no such note"), "{why}");

    // What looks like a condition is none that the notes here have; the team's may have it.
    let answer = member.ask(&query("heron [status:done]"));
    let said = answer.warnings.join("\n");
    assert!(said.contains("no note here has such a property") && said.contains("`handbook`"), "{said}");
    let alone = member.ask(&SearchRequest { vault: Some("notes".to_owned()), ..query("heron [status:done]") });
    assert!(alone.warnings.join("\n").contains("no note has such a property"), "{:?}", alone.warnings);

    let refused = member.refused(&near("handbook/notes: Onboarding.md"));
    assert!(refused.message.contains("is a team's"), "{}", refused.message);
}
