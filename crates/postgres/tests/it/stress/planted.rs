//! Mistakes, each of them planted into a database of its own, and the kind of fault that gives it away.
//!
//! They are triggers: each makes the store forget or garble one thing between its functions and its tables, whatever the
//! functions look like.

use super::Server;
use super::plan::{Engine, Plan};
use std::time::Duration;

struct Mistake {
    name: &'static str,
    sql: &'static str,
    found_as: &'static [&'static str],
}

/// A row-level trigger before the change of a table.
macro_rules! before {
    ($event:literal, $table:literal, $does:literal) => {
        concat!(
            "create function stress.mistake() returns trigger language plpgsql as $$ begin ",
            $does,
            " return new; end $$;
            create trigger mistake before ",
            $event,
            " on tenure.",
            $table,
            " for each row execute function stress.mistake();"
        )
    };
}

const MISTAKES: [Mistake; 18] = [
    Mistake {
        name: "lanes are forgotten",
        sql: before!("insert", "job", "new.ordering_key := null;"),
        found_as: &["lane", "order"],
    },
    Mistake {
        name: "tenants are forgotten",
        sql: before!("insert", "job", "new.limit_key := null;"),
        found_as: &["tenant limit"],
    },
    Mistake {
        name: "a queue's W is forgotten",
        sql: before!("insert or update", "queue", "new.max_running := null;"),
        found_as: &["queue limit"],
    },
    Mistake {
        name: "the engine's W is forgotten",
        sql: before!("update", "engine", "new.max_running := null;"),
        found_as: &["engine limit"],
    },
    Mistake {
        name: "pauses are forgotten",
        sql: before!("insert or update", "queue", "new.paused := false;"),
        found_as: &["paused"],
    },
    Mistake {
        name: "lanes never stop",
        sql: before!("insert or update", "queue", "new.lane_on_failure := 'continue';"),
        found_as: &["blocked"],
    },
    Mistake {
        name: "rates are forgotten",
        sql: before!("insert or update", "queue", "new.rate_max := null; new.key_rate_max := null;"),
        found_as: &["rate"],
    },
    Mistake {
        name: "tokens go down",
        sql: "create function stress.turn() returns trigger language plpgsql as $$ begin
                  if tg_table_name = 'lease' then new.token := 9007199254740991 - new.token;
                  elsif new.token is distinct from old.token then new.token := 9007199254740991 - new.token;
                  end if;
                  return new;
              end $$;
              create trigger mistake before insert on tenure.lease for each row execute function stress.turn();
              create trigger mistake before update on tenure.job for each row execute function stress.turn();",
        found_as: &["token"],
    },
    Mistake {
        name: "attempts are not limited",
        sql: before!("update", "job", "if new.attempt >= 2 then new.attempts_max := 1; end if;"),
        found_as: &["attempts"],
    },
    Mistake {
        name: "the clock is slow where leases are judged",
        sql: "create or replace function tenure.clock() returns timestamptz language sql volatile as
              $$ select clock_timestamp() - interval '2 seconds' $$;",
        found_as: &["late"],
    },
    Mistake {
        name: "leases are shorter than was said",
        sql: before!("insert", "lease", "new.expires_at := new.granted_at + interval '10 ms';"),
        found_as: &["early"],
    },
    Mistake {
        name: "some leases are not written",
        sql: before!("insert", "lease", "if random() < 0.1 then return null; end if;"),
        found_as: &["lease"],
    },
    Mistake {
        name: "some endings are not kept",
        sql: before!("insert", "finished", "if random() < 0.1 then return null; end if;"),
        found_as: &["vanished"],
    },
    Mistake {
        name: "receipts do not say by which verb",
        sql: before!("insert", "finished", "new.verb := null;"),
        found_as: &["replay"],
    },
    Mistake {
        name: "dedup keys are forgotten",
        sql: before!("insert", "dedup", "new.key := new.key || new.job;"),
        found_as: &["dedup"],
    },
    Mistake {
        name: "some jobs are lost from sight",
        sql: before!(
            "insert",
            "job",
            "if random() < 0.1 then new.run_at := new.run_at + interval '1 day';
                                       new.place := 2; end if;"
        ),
        found_as: &["left"],
    },
    Mistake {
        name: "locks are taken in two orders",
        sql: before!(
            "update",
            "job",
            "perform pg_advisory_xact_lock(1 + new.id % 2); perform pg_sleep(0.005);
                                       perform pg_advisory_xact_lock(2 - new.id % 2);"
        ),
        found_as: &["deadlock"],
    },
    Mistake {
        name: "something breaks",
        sql: before!("insert", "lease", "if random() < 0.1 then perform 1 / 0; end if;"),
        found_as: &["error"],
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn the_stress_finds_planted_mistakes() {
    let server = Server::start().await;
    let mut missed = Vec::new();
    for mistake in MISTAKES {
        let Mistake { name, sql, found_as } = mistake;
        // What is found only at the end needs no long run; the others end when they are found.
        let at_end = found_as.iter().any(|kind| ["left", "deadlock"].contains(kind));
        let mut plan = Plan::new(7, Duration::from_secs(if at_end { 3 } else { 20 }));
        plan.engine = if found_as == ["engine limit"] { Engine::Fixed(3) } else { Engine::Unlimited };
        plan.width = 3;
        plan.chaos = false;
        plan.patience = Duration::from_secs(1);
        plan.stop_at = if at_end { &[] } else { found_as };
        let report = server.run(&plan, sql).await;
        println!("{name}: {:?}", report.kinds);
        if !found_as.iter().all(|kind| report.kinds.iter().any(|(found, _)| found == kind)) {
            missed.push(format!("{name}: {report}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
