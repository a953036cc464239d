//! The measured figures beside their targets.

use std::fmt;

#[derive(Default)]
pub(crate) struct Table(Vec<Row>);

struct Row {
    figure: String,
    measured: String,
    target: String,
    met: Option<bool>,
}

impl Table {
    /// A figure that must be at most `target`.
    pub(crate) fn figure(&mut self, figure: &str, measured: f64, target: f64, unit: &str) {
        self.0.push(Row {
            figure: figure.to_owned(),
            measured: amount(measured, unit),
            target: format!("at most {}", amount(target, unit)),
            met: Some(measured <= target),
        });
    }

    /// A number without a target.
    pub(crate) fn note(&mut self, figure: &str, measured: f64, unit: &str) {
        let figure = format!("  {figure}");
        self.0.push(Row { figure, measured: amount(measured, unit), target: String::new(), met: None });
    }

    pub(crate) fn all_met(&self) -> bool {
        self.0.iter().all(|row| row.met != Some(false))
    }
}

fn amount(number: f64, unit: &str) -> String {
    let digits = if number.fract() == 0.0 || number >= 1000.0 { 0 } else { 2 };
    format!("{number:.digits$} {unit}")
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max_width =
            |text: fn(&Row) -> &String| self.0.iter().map(|row| text(row).chars().count()).max().unwrap_or(0);
        let figure = max_width(|row| &row.figure);
        let measured = max_width(|row| &row.measured);
        let target = max_width(|row| &row.target);
        writeln!(f)?;
        for row in &self.0 {
            let verdict = match row.met {
                Some(true) => "ok",
                Some(false) => "MISSED",
                None => "",
            };
            let line =
                format!("{:<figure$}  {:>measured$}  {:<target$}  {verdict}", row.figure, row.measured, row.target);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
