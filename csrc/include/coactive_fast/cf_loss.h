/* Losses of one prediction m = x.z and its label y (DEFINITIONS 5), and their derivatives in m.
 *
 * squared (m - y)^2 / 2; logistic log(1 + exp(-y m)), written so that neither a large nor a small
 * y m loses digits or overflows; return: m itself, as the loss -m. exp and log are our own.
 * Cost: logistic one exp and one log, about 30 ns; the others nothing to speak of.
 */
#pragma once
#include "cf_table.h"

typedef enum cf_loss_kind { CF_LOSS_SQUARED, CF_LOSS_LOGISTIC, CF_LOSS_RETURN } cf_loss_kind;

double cf_loss_value(const cf_table *k, int kind, double m, double y);
double cf_loss_slope(const cf_table *k, int kind, double m, double y);
