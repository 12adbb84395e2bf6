#include "coactive_fast/cf_loss.h"

#include <math.h>

double cf_loss_value(const cf_table *k, int kind, double m, double y)
{
    if (kind == CF_LOSS_RETURN)
        return -m;
    if (kind == CF_LOSS_SQUARED)
        return 0.5 * ((m - y) * (m - y));
    const double s = y * m;
    return fmax(-s, 0.0) + k->log1p_one(k->exp_one(-fabs(s)));
}

double cf_loss_slope(const cf_table *k, int kind, double m, double y)
{
    if (kind == CF_LOSS_RETURN)
        return -1.0;
    if (kind == CF_LOSS_SQUARED)
        return m - y;
    return -y / (1.0 + k->exp_one(y * m)); /* an exponential that overflows leaves 0 */
}
