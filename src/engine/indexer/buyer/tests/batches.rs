//! Rebuilds by batch.

use super::*;
use context::settings::Provider;

#[test]
fn without_a_batch_interface_a_rebuild_goes_on_one_by_one_and_says_so() {
    let mut bench = bench();
    bench.save("a.md", &report(2));
    let number = begin_rebuild(&mut bench, "a.md", true);
    let poll = |bench: &mut Bench, work: Work| buy(bench, |buyer, at| buyer.poll_batches(at, work));
    poll(&mut bench, Work { deciding: true, ..IDLE });
    poll(&mut bench, Work { troubled: true, ..IDLE });
    bench.shared.throttle.pause(Some(None));
    poll(&mut bench, IDLE);
    bench.shared.throttle.pause(None);
    poll_run(&mut bench, IDLE);
    assert_eq!((ask(&mut bench, IDLE), job_of(&bench, number).problem), (0, None), "it is to be handed in as one");
    poll(&mut bench, IDLE);
    assert!(job_of(&bench, number).problem.is_some_and(|problem| problem.contains("no batch interface")));
    assert_eq!(ask(&mut bench, IDLE), 1);
}

#[test]
fn what_a_batch_leaves_unanswered_is_handed_in_once_more_before_it_is_bought_at_the_full_price() {
    let mut bench = Bench::new(|settings| settings.context.provider = Provider::Anthropic);
    bench.save("a.md", &report(2));
    let number = begin_rebuild(&mut bench, "a.md", true);
    poll_run(&mut bench, IDLE);
    for (ticket, said) in [(1, "another one asks for the rest"), (2, "at the full price")] {
        buy(&mut bench, |buyer, at| buyer.poll_batches(at, IDLE));
        assert_eq!(ask(&mut bench, IDLE), 0, "{said}: it is handed in");
        let unanswered = BatchEvent::End(End::Unanswered("2 of 2 requests".to_owned()));
        buy(&mut bench, |buyer, at| buyer.take_batch(at, ticket, unanswered));
        assert!(job_of(&bench, number).problem.is_some_and(|problem| problem.contains(said)), "{said}");
    }
    assert_eq!(ask(&mut bench, IDLE), 1);
}
