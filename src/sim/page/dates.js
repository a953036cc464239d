// Formats dates as Slack does in `<!date^unix^format|fallback>`. The caller gives the current time and the time zone.

const DAY = 86_400;

function ordinal(n) {
  const rest = n % 100;
  if (rest >= 11 && rest <= 13) return `${n}th`;
  return `${n}${["th", "st", "nd", "rd"][n % 10] ?? "th"}`;
}

function parts(unix, { timeZone, hour12 = false }) {
  const options = {
    timeZone, weekday: "long", year: "numeric", month: "long", day: "numeric", hour: hour12 ? "numeric" : "2-digit",
    minute: "2-digit", second: "2-digit", ...(hour12 ? { hour12: true } : { hourCycle: "h23" }),
  };
  const found = {};
  for (const part of new Intl.DateTimeFormat("en-US", options).formatToParts(new Date(unix * 1000))) {
    found[part.type] = part.value;
  }
  return found;
}

/** The number of the calendar day in that time zone, so that two of them can be subtracted. */
function dayNumber(unix, options) {
  const { year, month, day } = parts(unix, options);
  return Date.parse(`${month} ${day}, ${year} 00:00:00 UTC`) / (DAY * 1000);
}

const MONTHS = { January: 1, February: 2, March: 3, April: 4, May: 5, June: 6, July: 7, August: 8, September: 9, October: 10, November: 11, December: 12 };

/** "3 minutes ago", "in 2 hours": only the largest unit, as in Slack. */
export function ago(unix, now) {
  const seconds = Math.round(now - unix);
  const size = Math.abs(seconds);
  if (size < 10) return seconds >= 0 ? "just now" : "in a moment";
  const [unit, span] = size < 60 ? ["second", 1] : size < 3600 ? ["minute", 60] : size < DAY ? ["hour", 3600]
    : size < 30 * DAY ? ["day", DAY] : size < 365 * DAY ? ["month", 30 * DAY] : ["year", 365 * DAY];
  const count = Math.floor(size / span);
  const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return seconds >= 0 ? `${words} ago` : `in ${words}`;
}

export function clockTime(unix, options = {}) {
  const p = parts(unix, options);
  return `${p.hour}:${p.minute}${p.dayPeriod ? ` ${p.dayPeriod}` : ""}`;
}

/** The text between the messages of two days: Today, Yesterday or the long date. */
export function dayLabel(unix, now, options = {}) {
  const text = formatDate(unix, "{date_long_pretty}", now, options);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Fills a Slack date format. An unknown token stays unchanged. */
export function formatDate(unix, format, now, options = {}) {
  const p = parts(unix, options);
  const short = p.month.slice(0, 3);
  const distance = dayNumber(unix, options) - dayNumber(now, options);
  const pretty = (otherwise) => ({ "-1": "yesterday", 0: "today", 1: "tomorrow" })[distance] ?? otherwise;
  const thisYear = p.year === parts(now, options).year;
  const tokens = {
    date_num: () => `${p.year}-${String(MONTHS[p.month]).padStart(2, "0")}-${p.day.padStart(2, "0")}`,
    date_slash: () => `${String(MONTHS[p.month]).padStart(2, "0")}/${p.day.padStart(2, "0")}/${p.year}`,
    date: () => (thisYear ? `${p.month} ${ordinal(Number(p.day))}` : `${p.month} ${ordinal(Number(p.day))}, ${p.year}`),
    date_short: () => (thisYear ? `${short} ${p.day}` : `${short} ${p.day}, ${p.year}`),
    date_long: () => `${p.weekday}, ${p.month} ${ordinal(Number(p.day))}${thisYear ? "" : `, ${p.year}`}`,
    time: () => clockTime(unix, options),
    time_secs: () => `${p.hour}:${p.minute}:${p.second}${p.dayPeriod ? ` ${p.dayPeriod}` : ""}`,
    ago: () => ago(unix, now),
  };
  for (const name of ["date", "date_short", "date_long"]) tokens[`${name}_pretty`] = () => pretty(tokens[name]());
  return format.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(tokens, name) ? tokens[name]() : whole));
}
