use super::*;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../tests/it/tiny.rs"]
mod tiny;

use tiny::Network;

struct Bench {
    dir: tempfile::TempDir,
    shelf: Shelf,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::of(&dir.path().join("data"));
        Bench { dir, shelf }
    }

    fn folder(&self, name: &str, network: &Network) -> PathBuf {
        let folder = self.dir.path().join(name);
        network.write(&folder);
        folder
    }

    async fn add(&self, what: &str, kind: ModelKind) -> Result<(Installed, bool), ModelError> {
        let no_hub = || Err(HubError::Endpoint("no hub is asked".to_owned()));
        self.shelf.add(&Source::parse(what)?, kind, no_hub, &|_| {}).await
    }

    async fn add_folder(&self, folder: &Path, kind: ModelKind) -> Result<(Installed, bool), ModelError> {
        self.add(folder.to_str().expect("UTF-8"), kind).await
    }
}

#[tokio::test]
async fn what_is_added_is_known_checked_and_removed() {
    let bench = Bench::new();
    let folder = bench.folder("my model", &Network::embedder());
    let unnamed = bench.add_folder(&bench.folder(".hidden", &Network::embedder()), ModelKind::Embedder).await;
    assert!(matches!(unnamed, Err(ModelError::Unnamed(_))), "{unnamed:?}");
    let plain = bench.dir.path().join("plain");
    std::fs::rename(folder, &plain).expect("a folder");
    let (model, new) = bench.add_folder(&plain, ModelKind::Embedder).await.expect("a model");
    assert!(new && model.id.to_string() == "local/plain");
    let record = model.known().expect("a record").clone();
    let names: Vec<&str> = record.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["config.json", "tokenizer.json", "modules.json", "1_Pooling/config.json", "model.safetensors"]);
    assert_eq!((bench.shelf.list().expect("a list"), bench.shelf.check(&model)), (vec![model.clone()], Vec::new()));
    assert!(!bench.add_folder(&plain, ModelKind::Embedder).await.expect("it is here").1);
    let pooling = model.folder.join("1_Pooling/config.json");
    let text = std::fs::read_to_string(&pooling).expect("a file");
    std::fs::write(&pooling, text.replace("true", "TRUE")).expect("a file");
    let faults = bench.shelf.check(&model);
    assert!(faults.len() == 1 && faults[0].path == pooling && faults[0].problem.contains("sha256"), "{faults:?}");
    std::fs::remove_file(&pooling).expect("a file");
    assert!(bench.shelf.check(&model)[0].problem.contains(if cfg!(windows) { "not found" } else { "No such file" }));
    bench.shelf.remove(&model).expect("it is gone");
    assert_eq!(bench.shelf.list().expect("a list"), []);
    assert!(plain.join("model.safetensors").is_file(), "the user's folder stays");
}

#[tokio::test]
async fn what_has_no_record_is_listed_and_gets_one() {
    let bench = Bench::new();
    let folder = bench.shelf.folder().join("org--name@v1.0");
    Network::reranker().write(&folder);
    std::fs::create_dir_all(bench.shelf.folder().join("not a model")).expect("a folder");
    let listed = bench.shelf.list().expect("a list");
    assert_eq!((listed.len(), listed[0].id.to_string(), listed[0].known()), (1, "org/name@v1.0".to_owned(), None));
    assert_eq!(bench.shelf.check(&listed[0]), [], "it opens, as whatever it is");
    assert!(bench.add("org/name@v1.0", ModelKind::Embedder).await.is_err());
    assert!(!folder.join(RECORD).exists());
    let (model, new) = bench.add("org/name@v1.0", ModelKind::CrossEncoder).await.expect("a model");
    assert!(!new && model.known().is_some_and(|record| record.origin == Origin::Found), "{model:?}");
    std::fs::write(folder.join("config.json"), "{}").expect("a file");
    let again = bench.add("org/name@v1.0", ModelKind::CrossEncoder).await;
    assert!(again.is_err_and(|error| error.to_string().contains("damaged")));
}

#[tokio::test]
async fn records_of_newer_versions_and_damaged_ones_are_left_alone() {
    let bench = Bench::new();
    let folder = bench.folder("plain", &Network::reranker());
    let (model, _) = bench.add_folder(&folder, ModelKind::CrossEncoder).await.expect("a model");
    for (text, words) in
        [("{\"version\": 2, \"new\": 1}", "newer situated"), ("{", "damaged"), ("{\"version\": 1}", "damaged")]
    {
        std::fs::write(model.folder.join(RECORD), text).expect("a file");
        let found = bench.shelf.find(&model.id).expect("a model");
        let faults = bench.shelf.check(&found);
        assert!(faults.len() == 1 && faults[0].problem.contains(words), "{faults:?}");
        let again = bench.add_folder(&folder, ModelKind::CrossEncoder).await;
        assert!(matches!(again, Err(ModelError::Taken { .. })), "{again:?}");
    }
}

#[tokio::test]
async fn a_folders_name_is_never_asked_of_a_hub() {
    let bench = Bench::new();
    let error = bench.add("local/plain", ModelKind::Embedder).await.expect_err("no hub has it");
    assert!(matches!(&error, ModelError::Hub(HubError::Own(_))), "{error}");
    assert_eq!(
        ModelKind::CrossEncoder.absent("local/x"),
        "the model local/x is not here; from its folder: situated models add cross-encoder FOLDER"
    );
    assert!(ModelKind::CrossEncoder.absent("org/x").ends_with("situated models add cross-encoder org/x"));
    assert!(ModelKind::CrossEncoder.absent("/gone").contains("no folder /gone"));
}

#[tokio::test]
async fn one_process_at_a_time() {
    let bench = Bench::new();
    let folder = bench.folder("plain", &Network::reranker());
    let held = Held::take(bench.shelf.folder(), "local--plain", "local/plain").expect("nobody has it");
    let busy = bench.add_folder(&folder, ModelKind::CrossEncoder).await;
    assert!(matches!(busy, Err(ModelError::Hub(HubError::Busy(_)))), "{busy:?}");
    drop(held);
    bench.add_folder(&folder, ModelKind::CrossEncoder).await.expect("a model");
}

#[test]
fn what_is_on_this_machine_is_found_there() {
    let bench = Bench::new();
    let (shelf, shared) = (bench.shelf.folder(), bench.dir.path().join("hub"));
    let home = shared.join("models--org--name");
    let snapshot = home.join("snapshots/c0ffee");
    std::fs::create_dir_all(&snapshot).expect("folders");
    std::fs::create_dir_all(home.join("refs")).expect("folders");
    std::fs::write(home.join("refs/main"), "c0ffee\n").expect("a file");
    for file in MUST_HAVE {
        assert_eq!(located("org/name", shelf, &shared), None, "it has no {file}");
        std::fs::write(snapshot.join(file), "x").expect("a file");
    }
    for name in ["org/name", "org/name@c0ffee"] {
        assert_eq!(located(name, shelf, &shared), Some(snapshot.clone()), "{name}");
    }
    std::fs::write(home.join("refs/main"), "../../..").expect("a file");
    assert_eq!(located("org/name", shelf, &shared), None);
    let own = shelf.join("org--name");
    std::fs::create_dir_all(&own).expect("a folder");
    assert_eq!(located("org/name", shelf, &shared), Some(own));
    let here = bench.dir.path().to_str().expect("UTF-8");
    assert_eq!(located(here, shelf, &shared), Some(bench.dir.path().to_owned()));
}

#[test]
fn names_and_folders_are_told_apart() {
    let bench = Bench::new();
    let here = bench.dir.path().to_str().expect("UTF-8");
    assert_eq!(Source::parse(here).expect("a folder"), Source::Folder(here.into()));
    for gone in [format!("{here}/gone"), "./gone-xyz".to_owned(), "~/gone-xyz".to_owned()] {
        let error = Source::parse(&gone).expect_err("no folder").to_string();
        assert!(error.contains("gone") && error.contains("no folder"), "{error}");
    }
    for bad in ["", "name", "org/", "org/name/more", "org/../x", "org/na me", "org/name@", "org/.name", "ö/x", "a\\b/c"]
    {
        let error = Source::parse(bad).expect_err(bad);
        assert!(matches!(error, ModelError::Hub(HubError::Name(_))), "{bad}: {error}");
    }
    assert_eq!(ModelId::parse("org/name@v1.0").expect("a name").folder(), "org--name@v1.0");
}
