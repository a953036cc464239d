// The shortcodes that bots commonly write, and the characters that stand for them.

const CODES = {
  white_check_mark: "✅", heavy_check_mark: "✔️", ballot_box_with_check: "☑️", x: "❌", negative_squared_cross_mark: "❎",
  warning: "⚠️", no_entry: "⛔", no_entry_sign: "🚫", octagonal_sign: "🛑", stop_sign: "🛑", rotating_light: "🚨",
  exclamation: "❗", heavy_exclamation_mark: "❗", question: "❓", grey_question: "❔", information_source: "ℹ️", bulb: "💡",
  rocket: "🚀", ship: "🚢", package: "📦", building_construction: "🏗️", hammer: "🔨", wrench: "🔧", hammer_and_wrench: "🛠️",
  gear: "⚙️", construction: "🚧", hourglass: "⌛", hourglass_flowing_sand: "⏳", stopwatch: "⏱️", alarm_clock: "⏰", clock1: "🕐",
  arrow_up: "⬆️", arrow_down: "⬇️", arrow_left: "⬅️", arrow_right: "➡️", arrow_upper_right: "↗️", arrow_lower_right: "↘️",
  arrow_up_small: "🔼", arrow_down_small: "🔽", leftwards_arrow_with_hook: "↩️", arrow_right_hook: "↪️", rewind: "⏪",
  fast_forward: "⏩", repeat: "🔁", arrows_counterclockwise: "🔄", twisted_rightwards_arrows: "🔀",
  large_green_circle: "🟢", large_yellow_circle: "🟡", large_orange_circle: "🟠", red_circle: "🔴", large_blue_circle: "🔵",
  large_purple_circle: "🟣", white_circle: "⚪", black_circle: "⚫", large_green_square: "🟩", large_red_square: "🟥",
  lock: "🔒", unlock: "🔓", key: "🔑", shield: "🛡️", snowflake: "❄️", ice_cube: "🧊", biohazard_sign: "☣️", mag: "🔍", eyes: "👀",
  tada: "🎉", sparkles: "✨", fire: "🔥", boom: "💥", zap: "⚡", bug: "🐛", beetle: "🐞", skull: "💀", ghost: "👻", robot_face: "🤖",
  wave: "👋", "+1": "👍", thumbsup: "👍", "-1": "👎", thumbsdown: "👎", clap: "👏", pray: "🙏", raised_hands: "🙌", point_right: "👉",
  ok_hand: "👌", muscle: "💪", hand: "✋", raised_hand: "✋", smile: "😄", slightly_smiling_face: "🙂", thinking_face: "🤔", sob: "😭",
  heart: "❤️", star: "⭐", bell: "🔔", no_bell: "🔕", mega: "📣", loudspeaker: "📢", speech_balloon: "💬", memo: "📝", pencil2: "✏️",
  clipboard: "📋", scroll: "📜", label: "🏷️", bookmark: "🔖", link: "🔗", paperclip: "📎", pushpin: "📌", round_pushpin: "📍",
  chart_with_upwards_trend: "📈", chart_with_downwards_trend: "📉", bar_chart: "📊", calendar: "📆", date: "📅", globe_with_meridians: "🌐",
  herb: "🌿", seedling: "🌱", evergreen_tree: "🌲", ladder: "🪜", busts_in_silhouette: "👥", bust_in_silhouette: "👤", zzz: "💤",
};

/** The character of a shortcode written without its colons; undefined if it is unknown. */
export function emoji(name) {
  return Object.hasOwn(CODES, name) ? CODES[name] : undefined;
}
