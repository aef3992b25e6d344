module.exports = "green";
