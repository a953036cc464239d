//! Counters and histograms for the other modules, and the page of `/metrics`. The types of the library stay in this
//! file. Labels come from the configuration or from enums, never from input of people or other systems.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// The content type of [`MetricsPage::encode_text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels<const N: usize> = [(&'static str, String); N];

fn build_labels<const N: usize>(names: [&'static str; N], values: [&str; N]) -> Labels<N> {
    std::array::from_fn(|index| (names[index], values[index].to_owned()))
}

/// A counter that only grows, in one atomic. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct EventCounter(Counter);

impl EventCounter {
    pub fn increment(&self) {
        self.0.inc();
    }
}

/// A counter for each combination of label values. Clones share them.
#[derive(Clone, Debug)]
pub struct LabelledCounter<const N: usize> {
    label_names: [&'static str; N],
    family: Family<Labels<N>, Counter>,
}

impl<const N: usize> LabelledCounter<N> {
    pub fn with_labels(names: [&'static str; N]) -> Self {
        Self { label_names: names, family: Family::default() }
    }

    pub fn increment(&self, values: [&str; N]) {
        self.family.get_or_create(&build_labels(self.label_names, values)).inc();
    }

    /// Returns the counter of these label values, for callers that increment it often. The counter is on the page from
    /// now on with 0. Otherwise Prometheus would not see the first increment, because a series that appears with 1 has
    /// not grown.
    pub fn ensure_counter(&self, values: [&str; N]) -> EventCounter {
        EventCounter(self.family.get_or_create_owned(&build_labels(self.label_names, values)))
    }
}

/// From a second to a day, for work of people and clusters.
const SLOW_BUCKETS: [f64; 12] = [1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 14_400.0, 86_400.0];
/// From half a millisecond to five seconds, for work of a disk.
const FAST_BUCKETS: [f64; 10] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

/// Durations of work that people wait for, by label values. Clones share it.
#[derive(Clone, Debug)]
pub struct LabelledHistogram<const N: usize> {
    label_names: [&'static str; N],
    family: Family<Labels<N>, Histogram, fn() -> Histogram>,
}

impl<const N: usize> LabelledHistogram<N> {
    pub fn with_labels(names: [&'static str; N]) -> Self {
        Self { label_names: names, family: Family::new_with_constructor(|| Histogram::new(SLOW_BUCKETS)) }
    }

    pub fn observe(&self, values: [&str; N], seconds: f64) {
        self.family.get_or_create(&build_labels(self.label_names, values)).observe(seconds);
    }
}

/// Durations of disk operations. Clones share it.
#[derive(Clone, Debug)]
pub struct LatencyHistogram(Histogram);

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self(Histogram::new(FAST_BUCKETS))
    }
}

impl LatencyHistogram {
    pub fn observe(&self, seconds: f64) {
        self.0.observe(seconds);
    }
}

/// The page of one scrape: counters of the other modules and current gauges. Callers write metric names in full, so
/// that a search finds them.
#[derive(Debug, Default)]
pub struct MetricsPage(Registry);

impl MetricsPage {
    /// Shown as `<name>_total`.
    pub fn add_counter(&mut self, name: &str, help: &str, count: &EventCounter) {
        self.0.register(name, help, count.0.clone());
    }

    /// Shown as `<name>_total`.
    pub fn add_labelled_counter<const N: usize>(&mut self, name: &str, help: &str, counts: &LabelledCounter<N>) {
        self.0.register(name, help, counts.family.clone());
    }

    pub fn add_labelled_histogram<const N: usize>(&mut self, name: &str, help: &str, durations: &LabelledHistogram<N>) {
        self.0.register(name, help, durations.family.clone());
    }

    pub fn add_latency_histogram(&mut self, name: &str, help: &str, durations: &LatencyHistogram) {
        self.0.register(name, help, durations.0.clone());
    }

    pub fn add_gauge(&mut self, name: &str, help: &str, value: f64) {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    pub fn add_labelled_gauge<const N: usize, V: AsRef<str>>(
        &mut self,
        name: &str,
        help: &str,
        label_names: [&'static str; N],
        values: impl IntoIterator<Item = ([V; N], f64)>,
    ) {
        let family = Family::<Labels<N>, Gauge<f64, AtomicU64>>::default();
        for (label_values, value) in values {
            let label_values =
                std::array::from_fn(|index| (label_names[index], label_values[index].as_ref().to_owned()));
            family.get_or_create(&label_values).set(value);
        }
        self.0.register(name, help, family);
    }

    /// Shown as `<name>_info`.
    pub fn add_info<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label_names: [&'static str; N],
        values: [&str; N],
    ) {
        self.0.register(name, help, Info::new(build_labels(label_names, values)));
    }

    pub fn encode_text(&self) -> String {
        let mut text = String::with_capacity(16 * 1024);
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.0);
        text
    }
}
