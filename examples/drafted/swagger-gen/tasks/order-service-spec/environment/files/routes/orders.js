const router = require("express").Router();

// GET /archived is gone since May
router.get("/", (req, res) => {
  const { status, page } = req.query;
  res.json({ orders: [], page });
});

router.post("/", (req, res) => {
  const { sku, quantity } = req.body;
  if (!sku) return res.status(400).json({ error: "sku" });
  res.status(201).json({ id: 1, sku, quantity });
});

router.get("/:orderId", (req, res) => {
  if (!find(req.params.orderId)) return res.status(404).json({ error: "unknown" });
  res.json({});
});

router.delete("/:orderId/lines/:lineId", (req, res) => {
  res.status(204).end();
});

module.exports = router;
