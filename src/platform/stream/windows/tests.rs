use std::time::Instant;

use super::*;

fn place() -> std::path::PathBuf {
    format!("C:/test/{}-{:?}", std::process::id(), std::thread::current().id()).into()
}

#[test]
fn a_client_is_answered_and_hears_the_end() {
    let path = place();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut server = {
        let _within = runtime.enter();
        listen(&path, true).unwrap()
    };
    let served = runtime.spawn(async move {
        server.connect().await.unwrap();
        let mut asked = [0; 4];
        server.read_exact(&mut asked).await.unwrap();
        server.write_all(b"pong").await.unwrap();
        asked
    });
    let mut stream = connect(&path).unwrap();
    stream.write_all(b"ping").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!((&answer[..], &runtime.block_on(served).unwrap()), (&b"pong"[..], b"ping"));
}

#[test]
fn a_read_ends_in_time() {
    let path = place();
    assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _within = runtime.enter();
    let server = listen(&path, true).unwrap();
    let second = listen(&path, false).unwrap();
    let mut stream = std::thread::scope(|scope| scope.spawn(|| connect(&path).unwrap()).join().unwrap());
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let began = Instant::now();
    assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(20));
    drop((server, second));
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "the end");
}

#[test]
fn nobody_else_has_the_name() {
    let path = place();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _within = runtime.enter();
    let _server = listen(&path, true).unwrap();
    assert!(listen(&path, true).is_err());
}

#[test]
fn any_path_stands_for_a_pipe() {
    assert_eq!(pipe(Path::new(r"\\.\PIPE\mine")), r"\\.\PIPE\mine");
    assert_eq!(pipe(Path::new(r"C:\Users\me/run\sock")), r"\\.\pipe\situated-c__users_me_run_sock");
    assert!(is_trusted("S-1-5-21-7", "S-1-5-21-7") && is_trusted("S-1-5-18", "S-1-5-21-7"));
    assert!(!is_trusted("S-1-5-21-8", "S-1-5-21-7"));
}
