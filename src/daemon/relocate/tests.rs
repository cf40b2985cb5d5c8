use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::daemon::serve::bind::BindError;

/// Places as a Mac has them: a former one, and one with a space in it whose folder is not there yet.
struct Home {
    root: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        Home { root: tempfile::tempdir().unwrap() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn location(&self, path: &str, former: &str) -> Location {
        Location { path: self.at(path), former: Some(Former { path: self.at(former), named: false }) }
    }

    fn data(&self) -> Location {
        self.location("Application Support/situated/data", "share/situated")
    }

    fn config(&self) -> Location {
        self.location("Application Support/situated/config.toml", "config/situated/config.toml")
    }

    /// A data folder with a journal in it.
    fn write_data(&self, dir: &Path, paid: &str) {
        assert!(dir.starts_with(self.root.path()));
        fs::create_dir_all(dir.join("vaults/n")).unwrap();
        fs::write(dir.join("vaults/n/contexts.journal"), paid).unwrap();
    }
}

fn former(location: &Location) -> &Path {
    &location.former.as_ref().unwrap().path
}

fn paid(dir: &Path) -> Option<String> {
    fs::read_to_string(dir.join("vaults/n/contexts.journal")).ok()
}

fn failing(kind: io::ErrorKind) -> impl Fn(&Path, &Path) -> io::Result<()> {
    move |_, _| Err(kind.into())
}

fn never(_: &Path, to: &Path) -> io::Result<()> {
    panic!("nothing is to be moved to {}", to.display())
}

#[test]
fn data_of_an_earlier_version_are_moved_whole_and_stay_locked() {
    let home = Home::new();
    let data_dir = home.data();
    home.write_data(former(&data_dir), "paid");
    let (lock, said) = data(&data_dir).unwrap();
    let moved = Relocation::Moved { from: former(&data_dir).to_owned(), to: data_dir.path.clone() };
    assert_eq!(said, Some(moved));
    assert_eq!(lock.data_dir(), data_dir.path);
    assert!(paid(&data_dir.path).as_deref() == Some("paid") && !former(&data_dir).exists());
    assert!(locate::is_locked(&data_dir.path), "the lock went along");
    assert_eq!(locate::data_dir(&data_dir), data_dir.path);
    assert!(matches!(DataLock::acquire(&data_dir.path), Err(BindError::AlreadyRunning { .. })));
    drop(lock);
    // And no second time.
    let (lock, said) = data_by(&data_dir, &never).unwrap();
    assert_eq!((lock.data_dir(), said), (&*data_dir.path, None));
}

#[test]
fn nothing_is_said_where_there_is_nothing_to_move() {
    let home = Home::new();
    let (lock, said) = data_by(&home.data(), &never).unwrap();
    assert_eq!((lock.data_dir(), said), (&*home.data().path, None));
    assert_eq!(config_file_by(&home.config(), &never), None);
    let only = Location { path: home.at("only"), former: None };
    assert_eq!(data_by(&only, &never).unwrap().1, None);
}

#[test]
fn where_both_are_there_neither_is_touched() {
    let home = Home::new();
    let (data_dir, config) = (home.data(), home.config());
    home.write_data(former(&data_dir), "old");
    home.write_data(&data_dir.path, "new");
    let (lock, said) = data_by(&data_dir, &never).unwrap();
    assert_eq!(lock.data_dir(), data_dir.path);
    let left = Relocation::LeftBehind { at: former(&data_dir).to_owned(), uses: data_dir.path.clone() };
    assert_eq!(said, Some(left));
    assert_eq!((paid(former(&data_dir)).as_deref(), paid(&data_dir.path).as_deref()), (Some("old"), Some("new")));
    fs::create_dir_all(former(&config).parent().unwrap()).unwrap();
    fs::write(former(&config), "old").unwrap();
    fs::write(&config.path, "new").unwrap();
    assert!(matches!(config_file_by(&config, &never), Some(Relocation::LeftBehind { .. })));
    assert_eq!(fs::read_to_string(former(&config)).unwrap(), "old");
}

#[test]
fn a_daemon_that_serves_from_the_former_place_keeps_it() {
    let home = Home::new();
    let data_dir = home.data();
    home.write_data(former(&data_dir), "paid");
    let running = DataLock::acquire(former(&data_dir)).unwrap();
    let error = data_by(&data_dir, &never).unwrap_err();
    assert!(error.to_string().contains(&former(&data_dir).display().to_string()), "{error}");
    assert_eq!(error.exit_code(), 75);
    // Also where the present place is there: two daemons would index, and buy, the same twice.
    home.write_data(&data_dir.path, "new");
    assert!(matches!(data_by(&data_dir, &never), Err(BindError::AlreadyRunning { .. })));
    drop(running);
    assert!(matches!(data_by(&data_dir, &never), Ok((_, Some(Relocation::LeftBehind { .. })))));
    assert_eq!(paid(former(&data_dir)).as_deref(), Some("paid"));
}

#[test]
fn a_link_is_used_where_it_leads() {
    let home = Home::new();
    let data_dir = home.data();
    let disk = home.at("disk");
    home.write_data(&disk, "paid");
    fs::create_dir_all(former(&data_dir).parent().unwrap()).unwrap();
    symlink(&disk, former(&data_dir)).unwrap();
    let (lock, said) = data_by(&data_dir, &never).unwrap();
    assert_eq!((lock.data_dir(), paid(lock.data_dir()).as_deref()), (former(&data_dir), Some("paid")));
    assert!(said.unwrap().to_string().ends_with("is a link"));
    // Dotfiles: the folder above is one.
    let config = home.config();
    let dotfiles = home.at("dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    fs::write(dotfiles.join("config.toml"), "").unwrap();
    fs::create_dir_all(home.at("config")).unwrap();
    symlink(&dotfiles, home.at("config/situated")).unwrap();
    assert!(matches!(config_file_by(&config, &never), Some(Relocation::Stays { .. })));
    assert_eq!(config.in_use(), former(&config));
}

#[test]
fn what_cannot_be_moved_is_used_where_it_lies() {
    let home = Home::new();
    let data_dir = home.data();
    home.write_data(former(&data_dir), "paid");
    let cases = [
        (io::ErrorKind::CrossesDevices, "is on another file system"),
        (io::ErrorKind::PermissionDenied, "permission denied"),
        (io::ErrorKind::AlreadyExists, "already exists"),
        (io::ErrorKind::InvalidInput, "cannot be moved"),
    ];
    for (kind, words) in cases {
        let (lock, said) = data_by(&data_dir, &failing(kind)).unwrap();
        assert_eq!((lock.data_dir(), paid(lock.data_dir()).as_deref()), (former(&data_dir), Some("paid")));
        let said = said.unwrap();
        assert!(matches!(said, Relocation::Stays { .. }) && said.to_string().contains(words), "{said}");
        assert!(!data_dir.path.exists() && locate::is_locked(former(&data_dir)));
    }
    // The folder for it cannot be made: a file is where it would be.
    fs::remove_dir_all(home.at("Application Support")).unwrap();
    fs::write(home.at("Application Support"), "").unwrap();
    let (lock, said) = data(&data_dir).unwrap();
    assert_eq!(lock.data_dir(), former(&data_dir));
    assert!(said.unwrap().to_string().contains("is used where it lies"));
}

#[test]
fn what_the_user_named_stays_there_without_a_word() {
    let home = Home::new();
    let named = |location: Location| {
        let former = location.former.map(|former| Former { named: true, ..former });
        Location { former, ..location }
    };
    let (data_dir, config) = (named(home.data()), named(home.config()));
    home.write_data(former(&data_dir), "paid");
    let (lock, said) = data_by(&data_dir, &never).unwrap();
    assert_eq!((lock.data_dir(), said), (former(&data_dir), None));
    fs::create_dir_all(former(&config).parent().unwrap()).unwrap();
    fs::write(former(&config), "").unwrap();
    assert_eq!(config_file_by(&config, &never), None);
}

#[test]
fn configuration_and_data_are_moved_apart_from_each_other() {
    let home = Home::new();
    let (data_dir, config) = (home.data(), home.config());
    fs::create_dir_all(former(&config).parent().unwrap()).unwrap();
    fs::write(former(&config), "limit = 1").unwrap();
    fs::write(home.at("config/situated/key"), "secret").unwrap();
    // Another one is started with data of its own, and takes the file alone.
    assert!(matches!(config_file(&config), Some(Relocation::Moved { .. })));
    assert_eq!(fs::read_to_string(&config.path).unwrap(), "limit = 1");
    assert!(home.at("config/situated/key").is_file(), "the file names it by its path");
    home.write_data(former(&data_dir), "paid");
    assert!(matches!(data(&data_dir), Ok((_, Some(Relocation::Moved { .. })))));
    assert_eq!(paid(&data_dir.path).as_deref(), Some("paid"));
    assert_eq!(config_file(&config), None);
}

#[test]
fn nothing_is_renamed_over_what_came_meanwhile() {
    let home = Home::new();
    let data_dir = home.data();
    home.write_data(former(&data_dir), "paid");
    let late = |from: &Path, to: &Path| {
        // Another program makes it between our look and our rename.
        home.write_data(to, "late");
        rename(from, to)
    };
    let (lock, said) = data_by(&data_dir, &late).unwrap();
    assert!(matches!(said, Some(Relocation::Stays { .. })), "{said:?}");
    assert_eq!(paid(lock.data_dir()).as_deref(), Some("paid"));
    assert_eq!(paid(&data_dir.path).as_deref(), Some("late"));
}

#[test]
fn of_two_daemons_that_start_one_moves_and_the_other_is_refused() {
    let home = Home::new();
    let data_dir = home.data();
    home.write_data(former(&data_dir), "paid");
    let starts: Vec<_> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| data(&data_dir))).collect();
        starting.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let won: Vec<_> = starts.iter().flatten().collect();
    assert_eq!(won.len(), 1, "{starts:?}");
    assert_eq!(won[0].0.data_dir(), data_dir.path);
    assert!(starts.iter().filter_map(|start| start.as_ref().err()).all(|error| error.exit_code() == 75), "{starts:?}");
    assert!(!former(&data_dir).exists() && paid(&data_dir.path).as_deref() == Some("paid"));
}

#[test]
fn a_lock_is_taken_again_where_the_folder_went_away_meanwhile() {
    let home = Home::new();
    let (here, there) = (home.at("here"), home.at("there"));
    let first = DataLock::acquire(&here).unwrap();
    let to = here.clone();
    let second = std::thread::spawn(move || DataLock::acquire(&to));
    // It waits for the lock, on a file that goes away; or it comes after that. Both end the same.
    fs::rename(&here, &there).unwrap();
    drop(first);
    let second = second.join().unwrap().unwrap();
    assert!(locate::is_locked(&here) && !locate::is_locked(&there));
    assert_eq!(second.data_dir(), here);
}
