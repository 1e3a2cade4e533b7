//! What a shift decides.

use super::*;
use tenure_core::queue::{ClaimedJob, JobId};
use tenure_core::{Time, Token};

type Shift = super::Shift<ClaimedJob>;
type Event = super::Event<ClaimedJob>;
type Order = super::Order<ClaimedJob>;

fn at(ms: u64) -> Moment {
    Moment(Duration::from_secs(1_000) + Duration::from_millis(ms))
}

fn plan(concurrency: usize, prefetch: usize) -> Plan {
    let queues = vec![Share { name: "q".into(), weight: 1, concurrency: None }];
    Plan { queues, concurrency, prefetch, grace: Duration::from_secs(30), drain: false }
}

fn job(id: i64, token: i64, queue: &str) -> ClaimedJob {
    ClaimedJob {
        id: JobId(id),
        queue: queue.into(),
        kind: "k".into(),
        payload: "1".into(),
        priority: 0,
        attempt: 1,
        attempts_max: 5,
        token: Token(token),
        lease_expires_at: Time(0),
        created_at: Time(0),
        run_at: Time(0),
        timeout_ms: None,
        ordering_key: None,
        limit_key: None,
        checkpoint: None,
    }
}

fn offered(units: Vec<ClaimedJob>, again_in: Option<Duration>, limited: bool) -> Event {
    Event::Claimed { offer: Offer { units, again_in, limited, held: false }, unsettled: false }
}

fn claimed(jobs: Vec<ClaimedJob>) -> Event {
    offered(jobs, None, false)
}

fn claim_from(queue: &str, max: u32, begin: u32) -> Order {
    Order::Claim(Ask { queues: vec![queue.into()], max, begin })
}

fn claim(max: u32, begin: u32) -> Order {
    claim_from("q", max, begin)
}

fn unit(id: i64, token: i64) -> Id<ClaimedJob> {
    (JobId(id), Token(token))
}

fn begun(orders: &[Order]) -> Vec<i64> {
    let ids = orders.iter().filter_map(|order| if let Order::Begin(job) = order { Some(job.id.0) } else { None });
    ids.collect()
}

#[test]
fn no_more_handlers_run_than_there_are_slots() {
    let mut shift = Shift::new(plan(2, 0));
    assert_eq!(shift.step(Event::Look, at(0)), [claim(2, 2)]);
    assert_eq!(shift.step(Event::Look, at(1)), [], "one claim at a time");
    let orders = shift.step(claimed(vec![job(1, 7, "q"), job(2, 7, "q")]), at(2));
    assert_eq!((begun(&orders), orders.len()), (vec![1, 2], 2));
    assert_eq!(shift.step(Event::Vacated(unit(1, 7)), at(3)), [claim(1, 1)]);
}

#[test]
fn l6_a_prefetched_job_begins_after_its_mark_was_committed() {
    let mut shift = Shift::new(plan(1, 3));
    assert_eq!(shift.step(Event::Look, at(0)), [claim(1, 1)], "nothing is prefetched before limits are known");
    shift.step(claimed(vec![job(1, 7, "q")]), at(1));
    shift.step(claimed(vec![job(2, 8, "q"), job(3, 8, "q"), job(4, 8, "q")]), at(2));
    let orders = shift.step(Event::Vacated(unit(1, 7)), at(3));
    assert_eq!(orders[0], Order::Mark { key: Token(8), count: 1 });
    assert_eq!(begun(&orders), [0i64; 0]);
    assert_eq!(begun(&shift.step(Event::Marked { key: Token(8), held: true }, at(4))), [2]);
    // Two slots' worth of one grant would be one mark; here the next follows alone.
    let orders = shift.step(Event::Vacated(unit(2, 8)), at(5));
    assert_eq!(orders[0], Order::Mark { key: Token(8), count: 2 });
}

#[test]
fn l3_a_refused_mark_drops_everything_of_its_grant() {
    let mut shift = Shift::new(plan(1, 3));
    shift.step(Event::Look, at(0));
    shift.step(claimed(vec![job(1, 7, "q")]), at(1));
    shift.step(claimed(vec![job(2, 8, "q"), job(3, 8, "q")]), at(2));
    shift.step(Event::Vacated(unit(1, 7)), at(3));
    let orders = shift.step(Event::Marked { key: Token(8), held: false }, at(4));
    assert_eq!(begun(&orders), [0i64; 0]);
    assert!(!orders.iter().any(|order| matches!(order, Order::Mark { .. })), "{orders:?}");
}

#[test]
fn q8_nothing_is_claimed_ahead_of_free_slots_while_a_limit_is_set() {
    let mut shift = Shift::new(plan(1, 50));
    shift.step(Event::Look, at(0));
    let orders = shift.step(offered(vec![job(1, 7, "q")], None, true), at(1));
    assert_eq!((begun(&orders), orders.len()), (vec![1], 1), "{orders:?}");
}

#[test]
fn an_empty_queue_is_looked_at_again_when_work_is_due_and_at_least_every_second() {
    let mut shift = Shift::new(plan(1, 0));
    shift.step(Event::Look, at(0));
    shift.step(offered(vec![], Some(Duration::from_millis(300)), false), at(10));
    assert_eq!(shift.next(), Some(at(310)));
    assert_eq!(shift.step(Event::Look, at(310)), [claim(1, 1)]);
    shift.step(offered(vec![], Some(Duration::from_secs(3_600)), false), at(320));
    assert_eq!(shift.next(), Some(at(1_320)));
}

#[test]
fn an_absent_store_is_asked_less_and_less_often() {
    let mut shift = Shift::new(plan(1, 0));
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..9 {
        assert_eq!(shift.step(Event::Look, at(now)), [claim(1, 1)]);
        shift.step(Event::Unanswered, at(now));
        let next = shift.next().unwrap();
        waits.push(at(now).until(next).as_millis());
        now += at(now).until(next).as_millis() as u64;
    }
    assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
}

#[test]
fn queues_are_led_by_their_weights() {
    let share = |name: &str, weight| Share { name: name.into(), weight, concurrency: None };
    let mut shift = Shift::new(Plan { queues: vec![share("a", 3), share("b", 1)], ..plan(1, 0) });
    let mut led = String::new();
    for id in 0..8 {
        let orders =
            if id == 0 { shift.step(Event::Look, at(0)) } else { shift.step(Event::Vacated(unit(id - 1, 7)), at(0)) };
        let Order::Claim(Ask { queues, .. }) = &orders[0] else { panic!("{orders:?}") };
        led.push_str(&queues[0]);
        let queue = queues[0].clone();
        shift.step(claimed(vec![job(id, 7, &queue)]), at(0));
    }
    assert_eq!(led.matches('a').count(), 6, "{led}");
}

#[test]
fn an_empty_leader_lets_the_others_have_the_slot() {
    let share = |name: &str, weight| Share { name: name.into(), weight, concurrency: None };
    let mut shift = Shift::new(Plan { queues: vec![share("a", 3), share("b", 1)], ..plan(1, 0) });
    shift.step(Event::Look, at(0));
    let orders = shift.step(claimed(vec![]), at(1));
    assert_eq!(orders, [claim_from("b", 1, 1)]);
    shift.step(claimed(vec![]), at(2));
    assert_eq!(shift.next(), Some(at(1_002)), "and then it rests");
}

#[test]
fn a_queue_has_no_more_in_hand_than_its_own_limit() {
    let share = |name: &str, concurrency| Share { name: name.into(), weight: 1, concurrency };
    let queues = vec![share("a", Some(1)), share("b", None)];
    let mut shift = Shift::new(Plan { queues, ..plan(4, 0) });
    assert_eq!(shift.step(Event::Look, at(0)), [claim_from("a", 1, 1)]);
    let orders = shift.step(claimed(vec![job(1, 7, "a")]), at(1));
    assert_eq!(orders[1], claim_from("b", 3, 3));
    let orders = shift.step(claimed(vec![job(2, 8, "b")]), at(2));
    assert!(!orders.iter().any(|o| matches!(o, Order::Claim(Ask { queues, .. }) if queues[0] == "a")), "{orders:?}");
}

#[test]
fn leaving_gives_back_what_has_not_begun_and_waits_for_what_has() {
    let mut shift = Shift::new(plan(1, 2));
    shift.step(Event::Look, at(0));
    shift.step(claimed(vec![job(1, 7, "q")]), at(1));
    shift.step(claimed(vec![job(2, 8, "q"), job(3, 8, "q")]), at(2));
    let orders = shift.step(Event::Leave, at(3));
    assert_eq!(orders, [Order::GiveBack(vec![unit(2, 8), unit(3, 8)])]);
    assert_eq!(shift.next(), Some(at(30_003)));
    assert_eq!(shift.step(Event::Look, at(30_003)), [Order::TellAll]);
    assert_eq!(shift.step(Event::Vacated(unit(1, 7)), at(30_010)), [Order::Over]);
}

#[test]
fn what_a_late_claim_brings_is_given_back() {
    let mut shift = Shift::new(plan(2, 0));
    shift.step(Event::Look, at(0));
    assert_eq!(shift.step(Event::Leave, at(1)), [], "a claim is under way");
    let orders = shift.step(claimed(vec![job(1, 7, "q")]), at(2));
    assert_eq!(orders, [Order::GiveBack(vec![unit(1, 7)]), Order::Over]);
}

#[test]
fn leaving_now_drops_handlers() {
    let mut shift = Shift::new(plan(1, 0));
    shift.step(Event::Look, at(0));
    shift.step(claimed(vec![job(1, 7, "q")]), at(1));
    shift.step(Event::Leave, at(2));
    assert_eq!(shift.step(Event::LeaveNow, at(3)), [Order::DropAll]);
    assert_eq!(shift.step(Event::LeaveNow, at(4)), []);
    assert_eq!(shift.step(Event::Vacated(unit(1, 7)), at(5)), [Order::Over]);
}

#[test]
fn draining_ends_when_nothing_is_due() {
    let mut shift = Shift::new(Plan { drain: true, ..plan(2, 0) });
    shift.step(Event::Look, at(0));
    shift.step(claimed(vec![job(1, 7, "q")]), at(1));
    assert_eq!(shift.step(claimed(vec![]), at(2)), [], "a handler is at work");
    assert_eq!(shift.step(Event::Vacated(unit(1, 7)), at(3)), [claim(2, 2)]);
    assert_eq!(shift.step(claimed(vec![]), at(4)), [Order::Over]);
}

#[test]
fn q2_a_store_that_always_hints_at_once_is_not_asked_without_a_pause() {
    let mut shift = Shift::new(plan(1, 0));
    let (mut now, mut looks) = (at(0), 0);
    let mut orders = shift.step(Event::Look, now);
    while now < at(10_000) {
        if orders == [claim(1, 1)] {
            looks += 1;
            orders = shift.step(offered(vec![], Some(Duration::ZERO), false), now);
        } else {
            now = shift.next().unwrap();
            orders = shift.step(Event::Look, now);
        }
    }
    assert_eq!(looks, 15, "seven in the first second and a half, then one a second");
}

#[test]
fn draining_waits_for_what_others_hold() {
    let mut shift = Shift::new(Plan { drain: true, ..plan(2, 0) });
    shift.step(Event::Look, at(0));
    let offer = Offer { units: vec![], again_in: Some(Duration::from_millis(300)), limited: false, held: true };
    assert_eq!(shift.step(Event::Claimed { offer, unsettled: false }, at(1)), []);
    assert_eq!(shift.step(Event::Look, at(301)), [claim(2, 2)]);
    assert_eq!(shift.step(claimed(vec![]), at(302)), [Order::Over]);
}

#[test]
fn a_draining_shift_comes_back_to_a_queue_that_was_at_its_own_limit() {
    let share = |name: &str, concurrency| Share { name: name.into(), weight: 1, concurrency };
    let queues = vec![share("a", Some(1)), share("b", None)];
    let mut shift = Shift::new(Plan { queues, concurrency: 4, prefetch: 0, grace: Duration::ZERO, drain: true });
    assert_eq!(shift.step(Event::Look, at(0)), [claim_from("a", 1, 1)]);
    assert_eq!(shift.step(claimed(vec![job(1, 7, "a")]), at(1))[1], claim_from("b", 3, 3));
    assert_eq!(shift.step(claimed(vec![]), at(2)), []);
    assert_eq!(shift.step(Event::Look, at(3)), [claim_from("b", 3, 3)], "the other is at its limit");
    assert_eq!(shift.step(Event::Vacated(unit(1, 7)), at(4)), [], "a claim is under way");
    assert_eq!(shift.step(claimed(vec![]), at(5)), [], "it is not over: the first has not been asked since");
    let soon = shift.next().expect("a short rest");
    assert_eq!(shift.step(Event::Look, soon), [claim_from("b", 4, 4)]);
    assert_eq!(shift.step(claimed(vec![]), soon), [claim_from("a", 1, 1)]);
    assert_eq!(shift.step(claimed(vec![]), soon), [Order::Over]);
}
