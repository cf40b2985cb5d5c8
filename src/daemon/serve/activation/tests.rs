use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn only_a_listening_stream_with_a_path_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let (taken, named) = checked(UnixListener::bind(&path).unwrap().into()).unwrap();
    assert_eq!(named, path);
    UnixStream::connect(&path).unwrap();
    taken.accept().unwrap();
    let (connected, _other) = UnixStream::pair().unwrap();
    assert!(checked(connected.into()).is_err());
    assert!(checked(std::net::TcpListener::bind("127.0.0.1:0").unwrap().into()).is_err());
    assert!(checked(std::fs::File::open("/dev/null").unwrap().into()).is_err());
    let datagrams = std::os::unix::net::UnixDatagram::bind(dir.path().join("d")).unwrap();
    assert!(checked(datagrams.into()).is_err());
}
