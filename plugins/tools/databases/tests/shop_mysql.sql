CREATE SEQUENCE evil

CREATE FUNCTION wipe() RETURNS INTEGER MODIFIES SQL DATA BEGIN DELETE FROM order_items; RETURN 1; END

CREATE FUNCTION quiet() RETURNS INTEGER BEGIN DELETE FROM order_items; RETURN 1; END

CREATE FUNCTION liar() RETURNS INTEGER READS SQL DATA BEGIN DELETE FROM order_items; RETURN 1; END

CREATE FUNCTION revenue_of(n INTEGER) RETURNS DECIMAL(10,2) READS SQL DATA RETURN (SELECT total FROM revenue WHERE order_id = n)

CREATE PROCEDURE wiped() DELETE FROM order_items

CREATE TABLE events (id BIGINT AUTO_INCREMENT PRIMARY KEY, at DATETIME(3), kind ENUM('click', 'view'), body JSON, flags BIT(4), secret VARBINARY(8), spent TIME) ENGINE=Aria

INSERT INTO events (at, kind, body, flags, secret, spent) VALUES ('2025-01-01', 'click', '{"page": "/", "ms": 12}', b'101', x'00ff', '25:00:00'), ('2025-01-02', 'view', '{"page": "/x"}', NULL, NULL, NULL)
