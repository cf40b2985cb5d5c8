use super::*;

#[test]
fn a_kernel_that_tells_nothing_and_one_that_does() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(look_in(dir.path(), None, None), Host::default());
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("sys/fs/inotify/max_user_watches", "8192\n");
    write("sys/fs/inotify/max_user_instances", "128\n");
    write("sys/user/max_user_namespaces", "100\n");
    write("self/status", "");
    write("77/fdinfo/5", "pos:\t0\ninotify wd:1 ino:2\ninotify wd:2 ino:3\n");
    write("88/fdinfo/5", "inotify wd:1 ino:2\n");
    for pid in ["77", "88"] {
        std::fs::create_dir(dir.path().join(pid).join("fd")).unwrap();
        std::os::unix::fs::symlink("anon_inode:inotify", dir.path().join(pid).join("fd/5")).unwrap();
    }
    let found = look_in(dir.path(), Some(88), Some(4));
    assert_eq!((found.watches, found.instances), (Some((8192, 2)), Some((128, 1))));
    assert_eq!((found.namespaces, found.proc, found.landlock), (Some(true), true, Some(4)));
    write("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    assert_eq!(look_in(dir.path(), None, None).namespaces, Some(false));
}
