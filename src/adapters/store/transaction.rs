//! A transaction is a list of operations that take effect together or not at all. The file of each table defines its
//! operations; this file knows none of them.

use std::fmt::Debug;
use std::ops::AddAssign;

use futures::future::BoxFuture;
use jiff::Timestamp;
use sqlx::SqliteConnection;

/// Counters that grow when rows are added to the inbox or the outbox, when a change may be due, or when a lock is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakeups {
    pub inbox: u64,
    pub outbox: u64,
    pub changes: u64,
    pub locks: u64,
}

impl Wakeups {
    const NONE: Self = Self { inbox: 0, outbox: 0, changes: 0, locks: 0 };
    pub(super) const INBOX: Self = Self { inbox: 1, ..Self::NONE };
    pub(super) const OUTBOX: Self = Self { outbox: 1, ..Self::NONE };
    pub(super) const CHANGES: Self = Self { changes: 1, ..Self::NONE };
    pub(super) const LOCKS: Self = Self { locks: 1, ..Self::NONE };
}

impl AddAssign for Wakeups {
    fn add_assign(&mut self, other: Self) {
        self.inbox += other.inbox;
        self.outbox += other.outbox;
        self.changes += other.changes;
        self.locks += other.locks;
    }
}

/// A write to a table, which the writer applies inside its transaction.
pub(super) trait Operation: Debug + Send + Sync + 'static {
    type Output: Debug + Send;

    fn apply(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> impl Future<Output = Result<Self::Output, sqlx::Error>> + Send;

    /// The tasks that have new work once the operation is committed.
    fn wakes(&self, _output: &Self::Output) -> Wakeups {
        Wakeups::default()
    }

    /// Records the request that caused the operation, unless another one is recorded.
    fn set_request(&mut self, _request: &str) {}
}

/// An operation without a result, as a trait object.
trait AnyOperation: Debug + Send + Sync {
    fn apply<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), sqlx::Error>>;

    fn wakes(&self) -> Wakeups;

    fn set_request(&mut self, request: &str);
}

impl<O: Operation<Output = ()>> AnyOperation for O {
    fn apply<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(Operation::apply(self, connection, now))
    }

    fn wakes(&self) -> Wakeups {
        Operation::wakes(self, &())
    }

    fn set_request(&mut self, request: &str) {
        Operation::set_request(self, request);
    }
}

/// Operations that take effect together or not at all, in this order.
#[derive(Debug, Default)]
pub struct Transaction(Vec<Box<dyn AnyOperation>>);

impl Transaction {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Marks the changes and messages in it with the request that caused them, unless they have another one.
    #[must_use]
    pub fn with_request(mut self, request: &str) -> Self {
        Operation::set_request(&mut self, request);
        self
    }

    /// Appends the operations of `other`.
    #[must_use]
    pub fn append(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn with_operation(mut self, operation: impl Operation<Output = ()>) -> Self {
        self.0.push(Box::new(operation));
        self
    }
}

impl Operation for Transaction {
    type Output = ();

    async fn apply(&self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        for operation in &self.0 {
            operation.apply(&mut *connection, now).await?;
        }
        Ok(())
    }

    fn wakes(&self, (): &()) -> Wakeups {
        let mut wakes = Wakeups::default();
        for operation in &self.0 {
            wakes += operation.wakes();
        }
        wakes
    }

    fn set_request(&mut self, request: &str) {
        for operation in &mut self.0 {
            operation.set_request(request);
        }
    }
}
