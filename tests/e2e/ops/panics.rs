//! A panic of a background task ends the process, so that it is started again. A bot without its writer would
//! acknowledge requests that it cannot store.

use std::time::Duration;

use gantry::adapters::store::Store;
use gantry::app::{App, AppError, Setup};
use gantry::clock::Clock;
use gantry::config::{Config, Secrets};
use gantry::sim::pace::Pace;
use gantry::sim::world::World;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_the_stores_writer_ends_the_process() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let world = World::new(Clock::new_system(), Pace::default(), &origin).unwrap();
    let details = world.connect_details();
    let config = Config::parse("the test", &details.write_kubeconfig(folder.path()).unwrap()).unwrap();
    let secrets = Secrets::read(&config, |name| details.find_variable(name)).unwrap();
    // The writer prunes rows older than some days before now. At the beginning of time that subtraction panics.
    let url = format!("sqlite://{}", folder.path().join("gantry.db").display());
    let store = Store::open(&url, Clock::new_manual(Timestamp::MIN)).await.unwrap();
    let app = App::build(Setup { config, secrets, clock: Clock::new_system(), store }).await.unwrap();

    let router = app.router();
    let served = tokio::spawn(app.serve(listener, router, std::future::pending()));
    // The check of readiness is the first write.
    let _ = reqwest::get(format!("{origin}/readyz")).await;
    let ended = timeout(Duration::from_secs(30), served).await.expect("the process ends").unwrap();
    assert!(matches!(ended, Err(AppError::Panicked)), "{ended:?}");
}
