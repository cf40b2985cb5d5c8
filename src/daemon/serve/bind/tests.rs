use std::fs::File;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use protocol::locate::{LOCK, MAX_SOCKET_PATH};

use super::*;

struct Place {
    root: tempfile::TempDir,
    around: Surroundings,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let around = Surroundings {
            socket: None,
            runtime_dir: Some(root.path().to_owned()),
            session_dir: root.path().join("none"),
            fallback_dir: root.path().join("fallback"),
            uid: platform::user::id(),
        };
        Place { root, around }
    }

    fn lock(&self) -> DataLock {
        DataLock::acquire(&self.root.path().join("data")).unwrap()
    }

    fn bind(&self) -> Result<Bound, BindError> {
        bind_in(&self.around, None, self.lock())
    }

    fn socket(&self) -> PathBuf {
        self.root.path().join("situated/sock")
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn binds_privately_and_cleans_up() {
    let place = Place::new();
    let bound = place.bind().unwrap();
    assert_eq!(bound.socket(), place.socket());
    assert_eq!(mode(&place.socket()), 0o600);
    assert_eq!(mode(&place.root.path().join("situated")), 0o700);
    let data = place.root.path().join("data");
    assert_eq!(mode(&data.join(DAEMON)), 0o600);
    let running = locate::running(&data).unwrap();
    assert_eq!((running.pid, running.socket), (std::process::id(), Some(place.socket())));
    let client = UnixStream::connect(bound.socket()).unwrap();
    bound.listener.accept().unwrap();
    drop((client, bound));
    assert!(!place.socket().exists() && !data.join(DAEMON).exists());
    assert!(!locate::is_locked(&data));
}

#[test]
fn a_second_lock_names_the_first() {
    let place = Place::new();
    let bound = place.bind().unwrap();
    let error = DataLock::acquire(&place.root.path().join("data")).unwrap_err();
    assert_eq!(error.exit_code(), 75);
    let message = error.to_string();
    assert!(message.contains(&std::process::id().to_string()), "{message}");
    assert!(message.contains(&bound.socket().display().to_string()), "{message}");
}

#[test]
fn a_client_that_looks_does_not_keep_a_daemon_from_starting() {
    let place = Place::new();
    drop(place.lock());
    let data = place.root.path().join("data");
    let looking = File::open(data.join(LOCK)).unwrap();
    looking.try_lock_shared().unwrap();
    let starting = std::thread::spawn(move || DataLock::acquire(&data));
    std::thread::sleep(Duration::from_millis(30));
    drop(looking);
    starting.join().unwrap().unwrap();
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let place = Place::new();
    fs::create_dir(place.root.path().join("situated")).unwrap();
    fs::set_permissions(place.root.path().join("situated"), fs::Permissions::from_mode(0o700)).unwrap();
    let other = UnixListener::bind(place.socket()).unwrap();
    let error = place.bind().unwrap_err();
    assert!(matches!(error, BindError::SocketInUse(_)), "{error}");
    assert_eq!(error.exit_code(), 75);
    assert!(UnixStream::connect(place.socket()).is_ok());
    drop(other);
    assert!(place.socket().exists(), "a dead daemon leaves its socket");
    place.bind().unwrap();
}

#[test]
fn what_is_no_socket_stays() {
    let place = Place::new();
    drop(place.bind().unwrap());
    fs::write(place.socket(), "mine").unwrap();
    let error = place.bind().unwrap_err();
    assert_eq!(error.exit_code(), 73);
    assert_eq!(fs::read_to_string(place.socket()).unwrap(), "mine");
    fs::remove_file(place.socket()).unwrap();
    symlink("/etc/passwd", place.socket()).unwrap();
    assert!(matches!(place.bind().unwrap_err(), BindError::NotASocket(_)));
}

#[test]
fn a_socket_put_in_our_place_is_not_removed() {
    let place = Place::new();
    let bound = place.bind().unwrap();
    fs::rename(place.socket(), place.root.path().join("ours")).unwrap();
    let _other = UnixListener::bind(place.socket()).unwrap();
    drop(bound);
    assert!(place.socket().exists());
}

#[test]
fn folders_that_others_can_enter_are_refused() {
    let place = Place::new();
    let dir = place.root.path().join("situated");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    let error = place.bind().unwrap_err();
    assert_eq!(error.exit_code(), 77);
    assert!(error.to_string().contains("chmod 700"), "{error}");
    fs::remove_dir(&dir).unwrap();
    symlink(place.root.path(), &dir).unwrap();
    assert_eq!(place.bind().unwrap_err().exit_code(), 77);

    let named = place.root.path().join("named");
    fs::create_dir(&named).unwrap();
    fs::set_permissions(&named, fs::Permissions::from_mode(0o777)).unwrap();
    let error = bind_in(&place.around, Some(&named.join("s")), place.lock()).unwrap_err();
    assert_eq!(error.exit_code(), 77);
    fs::set_permissions(&named, fs::Permissions::from_mode(0o755)).unwrap();
    bind_in(&place.around, Some(&named.join("s")), place.lock()).unwrap();
}

#[test]
fn a_long_path_names_the_setting() {
    let place = Place::new();
    let length = MAX_SOCKET_PATH - place.root.path().as_os_str().len() - 1;
    let fits = place.root.path().join("s".repeat(length));
    drop(bind_in(&place.around, Some(&fits), place.lock()).unwrap());
    let long = place.root.path().join("s".repeat(length + 1));
    let error = bind_in(&place.around, Some(&long), place.lock()).unwrap_err();
    assert!(error.to_string().contains("serve.socket") && error.to_string().contains("104"), "{error}");
    assert_eq!(error.exit_code(), 73);
}

#[test]
fn a_data_folder_that_cannot_be_made() {
    let place = Place::new();
    fs::write(place.root.path().join("file"), "").unwrap();
    let error = DataLock::acquire(&place.root.path().join("file/data")).unwrap_err();
    assert_eq!(error.exit_code(), 73);
}
