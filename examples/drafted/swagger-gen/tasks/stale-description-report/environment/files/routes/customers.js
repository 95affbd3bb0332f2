const router = require("express").Router();

router
  .route("/:id")
  .get((req, res) => {
    res.json({ id: req.params.id });
  })
  .put((req, res) => {
    const { name, mail } = req.body;
    if (!name) return res.status(422).json({ error: "name" });
    res.json({ name, mail });
  });

router.get("/", (req, res) => {
  const { q } = req.query;
  res.json([]);
});

module.exports = router;
