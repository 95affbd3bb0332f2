const express = require("express");
const app = express();
app.use("/api/orders", require("./routes/orders"));
app.use("/api/customers", require("./routes/customers"));
app.get("/health", (req, res) => res.json({ ok: true }));
module.exports = app;
