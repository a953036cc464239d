//! Writes a log line as one flat JSON object: the fields of the enclosing spans, then the fields of the line, so that
//! `jq 'select(."change.id" == "...")'` shows all lines of a change.

use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::clock::Clock;

/// Longer values are cut: an error response of a service may be a page of HTML.
const MAX_VALUE_LENGTH: usize = 2_000;

pub(super) struct JsonLogLayer<W> {
    writer: W,
    clock: Clock,
}

impl<W> JsonLogLayer<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer, clock: Clock::new_system() }
    }
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn insert_field(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert_field(field, value.chars().take(MAX_VALUE_LENGTH).collect::<String>().into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert_field(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert_field(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert_field(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

impl<S, W> Layer<S> for JsonLogLayer<W>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    W: for<'w> MakeWriter<'w> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let meta = event.metadata();
        let mut line = Fields::default();
        line.0.insert("timestamp".to_owned(), self.clock.now().to_string().into());
        line.0.insert("level".to_owned(), meta.level().as_str().into());
        line.0.insert("target".to_owned(), meta.target().into());
        for span in context.event_scope(event).into_iter().flat_map(tracing_subscriber::registry::Scope::from_root) {
            if let Some(fields) = span.extensions().get::<Fields>() {
                line.0.extend(fields.0.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
        }
        event.record(&mut line);
        let mut text = Value::Object(line.0).to_string();
        text.push('\n');
        // If the log cannot be written, there is no other place to report it.
        let _ = std::io::Write::write_all(&mut self.writer.make_writer_for(meta), text.as_bytes());
    }
}
