//! Looking: one domain, pages of them, and those that want a look (X, Y, D6).

use super::Harness;
use super::tools::{ENQUEUED, World};
use tenure_core::domain::{Acquire, DomainInfo, Held, LeaseInfo, Settings, State};

scenarios! {
    __domain_lists = domain::lists;
    x_a_domain_never_seen_is_absent,
    y_a_domain_shows_its_lease_without_the_token,
    y_a_domain_shows_its_backlog,
    x_domains_are_paged_by_name,
    x_names_are_any_text,
    y_blocked_domains_are_found,
    y_expired_domains_are_found,
}

fn names(items: &[DomainInfo]) -> Vec<&str> {
    items.iter().map(|info| &*info.name).collect()
}

/// Reading makes nothing.
pub async fn x_a_domain_never_seen_is_absent<H: Harness>() {
    let world = World::<H>::open().await;
    assert_eq!(world.store.domain("a").await.unwrap(), None);
    assert_eq!(world.store.domain_events("a").await.unwrap(), []);
    assert_eq!(world.store.domains(None, None, 10).await.unwrap().items, []);
}

/// The token is its holder's.
pub async fn y_a_domain_shows_its_lease_without_the_token<H: Harness>() {
    let world = World::<H>::open().await;
    world.hold_as(Acquire::new("a", 3).holder("bob").lease_ms(700)).await;
    let lease = LeaseInfo {
        offset: 3,
        holder: Some("bob".into()),
        acquired_at: world.now,
        retry_count: 0,
        takeovers: 0,
        lease_ms: Some(700),
        lease_expires_at: Some(world.now.plus_ms(700)),
        expired: false,
    };
    let expected = DomainInfo {
        name: "a".into(),
        created_at: world.now,
        settings: Settings::default(),
        lease: Some(lease),
        backlog_len: 0,
        backlog_head: None,
        backlog_oldest_at: None,
    };
    assert_eq!(world.info().await, expected);
}

/// Length, head, and since when it waits.
pub async fn y_a_domain_shows_its_backlog<H: Harness>() {
    let mut world = World::<H>::open().await;
    let token = world.hold(1).await;
    let since = world.now;
    for offset in [5, 4, 3] {
        assert_eq!(world.acquire(offset).await, ENQUEUED);
        world.pass_ms(1_000).await;
    }
    let shown = |info: DomainInfo| (info.backlog_len, info.backlog_head, info.backlog_oldest_at);
    assert_eq!(shown(world.info().await), (3, Some(5), Some(since)));
    world.succeed(token).await.unwrap();
    world.hold(5).await;
    assert_eq!(shown(world.info().await), (2, Some(4), Some(since.plus_ms(1_000))));
}

/// By name, each page from after the last one.
pub async fn x_domains_are_paged_by_name<H: Harness>() {
    let world = World::<H>::open().await;
    for name in ["d", "b", "a", "c", "e"] {
        world.hold_as(Acquire::new(name, 1)).await;
    }
    let page = world.store.domains(None, None, 2).await.unwrap();
    assert_eq!((names(&page.items), page.more), (vec!["a", "b"], true));
    let page = world.store.domains(Some("b"), None, 2).await.unwrap();
    assert_eq!((names(&page.items), page.more), (vec!["c", "d"], true));
    let page = world.store.domains(Some("d"), None, 2).await.unwrap();
    assert_eq!((names(&page.items), page.more), (vec!["e"], false));
    let page = world.store.domains(Some("dx"), None, 1).await.unwrap();
    assert_eq!((names(&page.items), page.more), (vec!["e"], false));
}

/// 1 to 256 bytes of UTF-8, in the order of their bytes.
pub async fn x_names_are_any_text<H: Harness>() {
    let world = World::<H>::open().await;
    let long = "x".repeat(256);
    let mut all = vec!["%2F", "a/b", "a b", "A", "'; drop table domain;--", "ключ", "😀", &long, "{\"a\":1}"];
    for name in &all {
        let token = world.hold_as(Acquire::new(*name, 1)).await;
        let held = vec![Held::new(*name, token)];
        assert!(world.store.domain_succeed(held).await.unwrap()[0].is_ok(), "{name}");
    }
    all.sort_unstable();
    let page = world.store.domains(None, None, 100).await.unwrap();
    assert_eq!(names(&page.items), all);
}

/// Offsets wait and no live lease works on the one before them.
pub async fn y_blocked_domains_are_found<H: Harness>() {
    let mut world = World::<H>::open().await;
    let blocked = async |world: &World<H>| {
        let page = world.store.domains(None, Some(State::Blocked), 10).await.unwrap();
        page.items.iter().map(|info| info.name.to_string()).collect::<Vec<_>>()
    };
    for name in ["busy", "expiring", "hinted", "lonely"] {
        let lease = Acquire::new(name, 1);
        let expires = name == "expiring" || name == "lonely";
        let token = world.hold_as(if expires { lease.lease_ms(1_000) } else { lease }).await;
        if name != "lonely" {
            assert_eq!(world.ask(Acquire::new(name, 2)).await, ENQUEUED);
        }
        if name == "hinted" {
            world.store.domain_succeed(vec![Held::new(name, token)]).await.unwrap()[0].unwrap();
        }
    }
    assert_eq!(blocked(&world).await, ["hinted"]);
    world.pass_ms(1_000).await;
    assert_eq!(blocked(&world).await, ["expiring", "hinted"]);
    let page = world.store.domains(None, Some(State::Blocked), 1).await.unwrap();
    assert_eq!((names(&page.items), page.more), (vec!["expiring"], true));
    let page = world.store.domains(Some("expiring"), Some(State::Blocked), 1).await.unwrap();
    assert_eq!((names(&page.items), page.more), (vec!["hinted"], false));
}

/// A lease that ran out and was not taken over.
pub async fn y_expired_domains_are_found<H: Harness>() {
    let mut world = World::<H>::open().await;
    for (name, lease_ms) in [("long", 60_000), ("short", 1_000), ("taken", 1_000)] {
        world.hold_as(Acquire::new(name, 1).lease_ms(lease_ms)).await;
    }
    world.hold_as(Acquire::new("never", 1)).await;
    world.pass_ms(1_000).await;
    world.hold_as(Acquire::new("taken", 1).lease_ms(1_000)).await;
    let page = world.store.domains(None, Some(State::Expired), 10).await.unwrap();
    assert_eq!((names(&page.items), page.more), (vec!["short"], false));
    world.recover(10).await;
    let page = world.store.domains(None, Some(State::Expired), 10).await.unwrap();
    assert_eq!(names(&page.items), ["short"], "told, it is still expired");
}
