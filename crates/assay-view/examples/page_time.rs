//! Measures how long the page of each skill of a run takes, as a browser sees it: from the first request until the page
//! is not one that waits.
//!
//!     cargo run --package assay-view --example page_time -- STORE RUN
//!
//! Run it twice: the second time, results of the first are in the store's folder `audits`.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_store::Store;
use assay_view::{Access, Serving, Site, Stop, new_token, serve_site};

/// Between two requests for a page that waits.
const PAUSE: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(store), Some(run)) = (args.next(), args.next()) else {
        return Err("usage: page_time STORE RUN".into());
    };
    let site = Arc::new(Site::new(Store::open(Path::new(&store))?, Vec::new()));
    let serving = Serving::bind("127.0.0.1:0".parse()?)?;
    let (address, token, stop) = (serving.address(), new_token()?, Stop::default());
    let (access, stopped) = (Access::new(token.clone()), stop.clone());
    let server = std::thread::spawn(move || serve_site(serving, site, access, &stopped));
    let page = get_page(address, &token, &format!("/runs/{run}/"))?;
    let prefix = format!("/runs/{run}/skills/");
    let mut skills: Vec<&str> = page.split('"').filter(|part| part.starts_with(&prefix)).collect();
    skills.sort_unstable();
    skills.dedup();
    for path in skills {
        let began = Instant::now();
        let bytes = get_page(address, &token, path)?.len();
        writeln!(std::io::stdout(), "{:.2} s  {bytes} bytes  {path}", began.elapsed().as_secs_f64())?;
    }
    stop.stop();
    server.join().map_err(|_| "the server panicked")??;
    Ok(())
}

/// A page, once it does not wait any more.
fn get_page(address: SocketAddr, token: &str, path: &str) -> Result<String, Box<dyn Error>> {
    loop {
        let mut stream = TcpStream::connect(address)?;
        let cookie = format!("assay_token_{}={token}", address.port());
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        )?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        if !reply.contains("This page reloads until all is ready.") {
            return Ok(reply);
        }
        std::thread::sleep(PAUSE);
    }
}
