//! Three schedulers as processes of their own on one PostgreSQL, killed at random with SIGKILL and started anew.
//!
//! The test starts this very program again as its children: each runs the same test, finds `TENURE_CHILD` in its
//! environment and plays the scheduler instead, until it is killed.

use crate::{END, Hand, START, assert_each_slot_once, journey, schedules};
use std::env;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tenure::{Tenure, Time};
use tenure_store::conformance::Seed;
use tenure_testing::TestDatabase;

const CHILD: &str = "TENURE_CHILD";
const TEST: &str = "processes::d1_three_processes_that_are_killed_at_random_fire_each_slot_once";

fn start(url: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([TEST, "--exact", "--nocapture"]).env(CHILD, url).stdout(Stdio::null()).spawn().unwrap()
}

/// Children that end with the test, however it ends.
struct Children(Vec<Child>);

impl Children {
    fn kill(&mut self, n: usize) {
        self.0[n].kill().unwrap();
        self.0[n].wait().unwrap();
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns once nothing is due any more; whoever fires it.
async fn settled(tenure: &Tenure, now: Time) {
    loop {
        let page = tenure.verbs().schedules(None, 1_000).await.unwrap();
        if page.items.iter().all(|schedule| schedule.next_at.is_some_and(|next| next > now)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_three_processes_that_are_killed_at_random_fire_each_slot_once() {
    if let Ok(url) = env::var(CHILD) {
        let tenure = Tenure::open(&url).await.unwrap();
        loop {
            if !tenure.verbs().fire_due().await.unwrap().more {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }
    let database = TestDatabase::create().await.unwrap();
    let tenure = Tenure::open(database.url()).await.unwrap();
    let hand = Hand::on(database.url()).await;
    hand.set(START).await;
    let schedules = schedules(&["30 2 * * *", "45 */8 * * *"]);
    for schedule in &schedules {
        tenure.verbs().put_schedule(schedule.clone()).await.unwrap();
    }
    let seed = Seed::or(4);
    let mut chance = seed.chance(0);
    let mut children = Children((0..3).map(|_| start(database.url())).collect());
    let mut kills = 0;
    for stop in journey(seed.chance(1), 240) {
        hand.set(stop).await;
        if chance.one_in(3) {
            // At another moment of its work each time.
            tokio::time::sleep(Duration::from_micros(chance.below(20_000) as u64)).await;
            let n = chance.below(3);
            children.kill(n);
            children.0[n] = start(database.url());
            kills += 1;
        }
        if chance.one_in(2) {
            settled(&tenure, stop).await;
        }
    }
    hand.set(END).await;
    settled(&tenure, END).await;
    drop(children);
    assert!(kills >= 15, "only {kills} were killed");
    assert_each_slot_once(&tenure, &schedules).await;
}
